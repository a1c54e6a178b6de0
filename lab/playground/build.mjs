// Bundle editor.js with its libraries into one file, whose head names them and their licence: node build.mjs OUT
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const hash = createHash("sha256");
for (const name of ["editor.js", "build.mjs", "package-lock.json"]) hash.update(readFileSync(name));

const options = { entryPoints: ["editor.js"], bundle: true, minify: true, format: "iife", globalName: "playgroundEditor",
  target: "es2022", charset: "utf8", legalComments: "none" };
const { metafile } = await build({ ...options, write: false, metafile: true });
const folders = new Set(Object.keys(metafile.inputs).filter((path) => path.startsWith("node_modules/"))
  .map((path) => path.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/)[0]));
const holders = new Map();
let terms = "";
for (const folder of [...folders].sort()) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const words = readFileSync(join(folder, "LICENSE"), "utf8").trim().replace(/^MIT License\n/, "").trim();
  const [, holder, rest] = words.match(/^(Copyright .*)\n+([^]*)$/) ?? [];
  if (license !== "MIT" || !rest || (terms && terms !== rest)) throw new Error(`${name}: other words of a licence`);
  terms = rest;
  holders.set(holder, [...(holders.get(holder) ?? []), `${name} ${version}`]);
}
const notice = [...holders].map(([holder, names]) => `${names.join(", ")}\n  ${holder}`).join("\n");
const banner = `/*! The editor of \`stackmask play\`: lab/playground/editor.js and libraries, bundled by ./dev editor.
sources ${hash.digest("hex")}

MIT License, for these libraries:
${notice}

${terms}
*/`;
await build({ ...options, banner: { js: banner }, outfile: process.argv[2] });
