// node write.mjs TOOL TABLE FILE: writes the columns of a JSON file, which are
// numbers and lists of them, and lists of texts, as the tool writes them by itself.
import { readFileSync, writeFileSync } from "node:fs";

const [tool, from, file] = process.argv.slice(2);
const columns = JSON.parse(readFileSync(from));
const text = (name) => name === "node_ids";
const real = (name) => name.endsWith("_attr"); // all others are integers
const depth = (name) => (name === "node_sparse" ? 2 : Array.isArray(columns[name][0]) ? 1 : 0); // of lists
const nest = (name, type, list) => (depth(name) > 1 ? list(list(type)) : depth(name) ? list(type) : type);

const tools = {
  async arrow() {
    const a = await import("apache-arrow");
    const vectors = Object.entries(columns).map(([name, rows]) => {
      const value = text(name) ? new a.Utf8() : real(name) ? new a.Float32() : new a.Int32();
      return [name, a.vectorFromArray(rows, nest(name, value, (t) => new a.List(new a.Field("item", t))))];
    });
    const table = new a.Table(Object.fromEntries(vectors));
    writeFileSync(file, a.tableToIPC(table, file.endsWith(".arrows") ? "stream" : "file"));
  },
  async duckdb() {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const db = await (await DuckDBInstance.create(":memory:")).connect();
    const select = Object.entries(columns).map(([name, rows]) => {
      const type = nest(name, text(name) ? "VARCHAR" : real(name) ? "DOUBLE" : "BIGINT", (t) => t + "[]");
      return `unnest(${JSON.stringify(rows).replaceAll('"', "'")}::${type}[]) AS ${name}`;
    });
    await db.run(`COPY (SELECT ${select.join(", ")}) TO '${file}' (FORMAT parquet)`);
  },
  async polars() {
    const { default: pl } = await import("nodejs-polars");
    const names = Object.keys(columns);
    const rows = columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
    const frame = pl.readJSON(Buffer.from(JSON.stringify(rows)), { format: "json" });
    if (file.endsWith(".parquet")) frame.writeParquet(file);
    else frame.writeIPC(file, { compression: "zstd" });
  },
};

await tools[tool]();
