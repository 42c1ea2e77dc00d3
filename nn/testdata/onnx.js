// Runs ONNX models for onnx_test.go: a JSON list in, a JSON list out. It needs the package
// onnxruntime-node or onnxruntime-web where node looks for packages (NODE_PATH).
let ort;
for (const name of ['onnxruntime-node', 'onnxruntime-web']) {
  try { ort = require(name); break; } catch (e) { if (e.code !== 'MODULE_NOT_FOUND') throw e; }
}
if (!ort) {
  console.error('neither onnxruntime-node nor onnxruntime-web is installed');
  process.exit(1);
}
if (process.argv[2] === 'probe') process.exit(0);
ort.env.logLevel = 'error';
if (ort.env.wasm) ort.env.wasm.numThreads = 1;
async function run(text) {
  const results = [];
  for (const job of JSON.parse(text)) {
    const session = await ort.InferenceSession.create(Buffer.from(job.Model, 'base64'));
    const feeds = {};
    for (const [name, x] of Object.entries(job.Inputs)) {
      const data = x.Ints ? Int32Array.from(x.Ints) : Float32Array.from(x.Floats);
      feeds[name] = new ort.Tensor(x.Ints ? 'int32' : 'float32', data, x.Shape);
    }
    const name = session.outputNames[0];
    const y = (await session.run(feeds))[name];
    results.push({Name: name, Shape: y.dims.map(Number), Floats: Array.from(y.data)});
  }
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
}
const chunks = [];
process.stdin.on('data', (c) => chunks.push(c));
process.stdin.on('end', () => run(Buffer.concat(chunks).toString()).catch((e) => { console.error(String(e)); process.exit(1); }));
