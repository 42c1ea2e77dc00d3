// node database.mjs duckdb FILE STATEMENT…: runs statements in a database that is a
// file, and prints the rows of the last of them as JSON.
import { DuckDBInstance } from "@duckdb/node-api";

const [, file, ...statements] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file);
const db = await instance.connect();
let rows = [];
for (const statement of statements) {
  rows = (await db.runAndReadAll(statement)).getRowObjectsJson();
}
db.closeSync();
instance.closeSync();
console.log(JSON.stringify(rows));
