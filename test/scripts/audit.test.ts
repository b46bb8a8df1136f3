/**
 * Goal: a known vulnerability of a package that the service needs fails the audit; a registry that
 * is away, or that answers with anything but a report, does not, and is told.
 * Method: a registry on the loopback interface that answers by plan, a project with one package for
 * the service and one for its development, and the real npm.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { someOf } from '../support/fuzzing.ts'

const SCRIPT = fileURLToPath(new URL('../../../scripts/audit.mjs', import.meta.url))
const ADVICES = '/-/npm/v1/security/advisories/bulk'
const ADVICE = {
  id: 1,
  url: 'https://example.invalid/1',
  title: 'reads what it must not',
  severity: 'high',
  vulnerable_versions: '<2.0.0',
  cwe: [],
  cvss: { score: 0, vectorString: null },
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let project: string
let answer: Answer = () => undefined
const server = createServer((request, response) => {
  if (request.method === 'POST') return answer(request, response)
  const name = decodeURIComponent((request.url ?? '').slice(1))
  json(response, 200, {
    name,
    'dist-tags': { latest: '1.0.0' },
    versions: { '1.0.0': { name, version: '1.0.0', dist: { tarball: 'none', integrity: '' } } },
  })
})

before(async () => {
  project = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  const [dependencies, devDependencies] = [{ served: '1.0.0' }, { built: '1.0.0' }]
  const manifest = { name: 'p', version: '1.0.0', dependencies, devDependencies }
  const packages = {
    '': manifest,
    'node_modules/served': { version: '1.0.0' },
    'node_modules/built': { version: '1.0.0', dev: true },
  }
  const lock = { name: 'p', version: '1.0.0', lockfileVersion: 3, requires: true, packages }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(project, { recursive: true, force: true })
})

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

async function audit(
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  msMax = 30_000,
): Promise<{ readonly code: number; readonly out: string }> {
  const env: NodeJS.ProcessEnv = {}
  // What the npm that runs these tests was told is not for this one.
  for (const [name, value] of Object.entries(process.env)) {
    if (!/^(npm_|https?_proxy$)/i.test(name) || name === 'npm_execpath') env[name] = value
  }
  env.npm_config_registry = registry
  env.npm_config_cache = join(project, 'cache')
  env.npm_config_userconfig = join(project, 'npmrc')
  env.npm_config_fetch_retry_mintimeout = '10'
  env.npm_config_fetch_retry_maxtimeout = '10'
  env.AUDIT_MS_MAX = String(msMax)
  const child = spawn(process.execPath, [SCRIPT], { cwd: project, env })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, out }
}

const advise = (advices: object) => {
  answer = (request, response) => {
    assert.equal(request.url, ADVICES)
    json(response, 200, advices)
  }
}

test('nothing known: clean', async () => {
  advise({})
  assert.deepEqual(await audit(), { code: 0, out: 'audit: no known vulnerability\n' })
})

test('a vulnerable package of the service fails, and is named', async () => {
  advise({ served: [ADVICE] })
  const { code, out } = await audit()
  assert.equal(code, 1)
  assert.match(out, /^audit: known vulnerabilities\n {2}served .*: high, reads what it must not\n$/)
})

test('a package for development only is not ours to fail for', async () => {
  advise({ built: [ADVICE] })
  assert.deepEqual(await audit(), { code: 0, out: 'audit: no known vulnerability\n' })
})

test('an advice for other versions is none', async () => {
  advise({ served: [{ ...ADVICE, vulnerable_versions: '<1.0.0' }] })
  assert.deepEqual(await audit(), { code: 0, out: 'audit: no known vulnerability\n' })
})

const NO_ANSWERS: readonly (readonly [name: string, answer: Answer])[] = [
  ['is overloaded', (_, response) => json(response, 503, { error: 'later' })],
  ['has no such service', (_, response) => json(response, 405, { error: 'no' })],
  ['wants a login', (_, response) => json(response, 401, { error: 'who?' })],
  ['answers with a page', (_, response) => response.end('<html>maintenance</html>')],
  ['hangs up', (request) => request.socket.destroy()],
]

for (const [name, how] of someOf(NO_ANSWERS)) {
  test(`a registry that ${name}: told, and no failure`, async () => {
    answer = how
    const { code, out } = await audit()
    assert.match(out, /^audit: NOT CHECKED, the registry gave no answer: .+\n$/)
    assert.equal(code, 0)
  })
}

test('a registry that never answers: given up in time', async () => {
  answer = () => undefined
  const { code, out } = await audit(undefined, 1_500)
  assert.match(out, /^audit: NOT CHECKED, .*: no answer within 1\.5 s\n$/)
  assert.equal(code, 0)
})

test('no registry at all: told, and no failure', async () => {
  const { code, out } = await audit('http://127.0.0.1:9/')
  assert.match(out, /^audit: NOT CHECKED/)
  assert.equal(code, 0)
})
