/**
 * Builds the page that the service has under `/console/`: `console/` becomes `dist/www/`, each file
 * named after its content, with a `.br` beside it. `--sizes` prints what the files weigh.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = join(root, 'dist', 'www')
const PAGE = 'index.html'
const ENTRY = 'console/main.tsx'

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: [ENTRY],
  outdir: out,
  entryNames: 'console-[hash]',
  chunkNames: '[name]-[hash]',
  // Charts, and screens beside Explore, are loaded when one is shown: the first rows do not wait.
  splitting: true,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome110', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})
const [script, entry] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => {
  return entryPoint === ENTRY
})
const names = [script, entry.cssBundle].map((path) => basename(path))
writePage([...names, copyIcon()], preloaded())
const sizes = readdirSync(out).sort().map(compress)
if (process.argv.includes('--sizes')) printSizes(sizes)

/** What the script imports at once: the browser need not read it first to know. */
function preloaded() {
  const imported = entry.imports.filter(({ kind }) => kind === 'import-statement')
  return imported.map(({ path }) => `<link rel="modulepreload" href="${basename(path)}">`)
}

/** The page names its script and style by their hashes. */
function writePage(all, links) {
  const nameOf = (extension) => {
    const name = all.find((other) => other.endsWith(extension))
    if (name === undefined) throw new Error(`the console has no ${extension} file`)
    return name
  }
  const page = readFileSync(join(root, 'console', PAGE), 'utf8')
    .replace('{script}', nameOf('.js'))
    .replace('{style}', nameOf('.css'))
    .replace('{icon}', nameOf('.svg'))
    .replace('{preload}', links.join('\n    '))
  writeFileSync(join(out, PAGE), page)
}

function copyIcon() {
  const bytes = readFileSync(join(root, 'console', 'icon.svg'))
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8)
  const name = `icon-${hash}.svg`
  writeFileSync(join(out, name), bytes)
  return name
}

function compress(name) {
  const bytes = readFileSync(join(out, name))
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  })
  if (brotli.length < bytes.length) writeFileSync(join(out, `${name}.br`), brotli)
  return { name, bytes: bytes.length, brotli: Math.min(brotli.length, bytes.length) }
}

function printSizes(files) {
  for (const { name, bytes, brotli } of files) {
    console.log(`${name.padEnd(28)} ${String(bytes).padStart(8)} B, ${brotli} B with brotli`)
  }
  const total = files.reduce((sum, { brotli }) => sum + brotli, 0)
  console.log(`${'together'.padEnd(28)} ${total} B with brotli`)
}
