/**
 * Goal: the image, which is not built here, and the systemd unit of docs/operations.md start what
 * `npm start` starts, with its settings.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8')
const dockerfile = read('Dockerfile')
const [unit = ''] = /^\[Service\]\n[^`]+/m.exec(read('docs/operations.md')) ?? []
const { version, scripts, engines } = JSON.parse(read('package.json')) as {
  readonly version: string
  readonly scripts: { readonly start: string }
  readonly engines: { readonly node: string }
}

test('the memory settings of `npm start` are those of the image and of the unit', () => {
  const settings = [...scripts.start.matchAll(/(MALLOC_\w+)=\$\{\w+:-(\d+)\}/g)]
  assert.equal(settings.length, 2)
  for (const [, name, value] of settings) {
    assert.match(dockerfile, new RegExp(`${name}=${value}\\b`))
    assert.match(unit, new RegExp(`^Environment=.*\\b${name}=${value}\\b`, 'm'))
  }
  const [, program] = / (node \S+)$/.exec(scripts.start) ?? []
  assert.match(unit, new RegExp(`^ExecStart=\\S*${program?.trim()}$`, 'm'))
  assert.ok(dockerfile.endsWith(`CMD ["${program?.replace(' ', '", "')}"]\n`), program)
})

test('its Node.js is one that the service takes, and it runs as nobody special', () => {
  const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(
    ([, from]) => from,
  )
  assert.equal(new Set(bases).size, 1, 'what is installed for one Node.js runs on the same')
  const major = Number(/^node:(\d+)\.\d+\.\d+-trixie-slim$/.exec(bases[0] ?? '')?.[1])
  assert.ok(major >= Number.parseInt(engines.node.replace('>=', ''), 10))
  assert.match(dockerfile, /^USER 1000:1000$/m)
  assert.ok(dockerfile.includes(`\nARG VERSION=${version}\n`))
  assert.doesNotMatch(dockerfile, /--chown/, 'the service cannot change its own code')
})

test('nothing that compiles or installs runs as another processor', () => {
  const stages = dockerfile.split(/^(?=FROM )/m).slice(1)
  assert.equal(stages.length, 3)
  for (const stage of stages.slice(0, -1)) assert.match(stage, /^FROM --platform=\$BUILDPLATFORM /)
  const [, ...runs] = stages.at(-1)!.split(/^RUN /m)
  assert.deepEqual(
    runs.map((run) => run.split(' ')[0]),
    ['install'],
  )
})

test('what it copies is there, and is not left out of what is sent to the builder', () => {
  const sent = read('.dockerignore')
    .match(/^!.+$/gm)!
    .map((line) => line.slice(1))
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
    .flatMap(([, names = '']) => names.split(' '))
    .filter((name) => name !== '.')
  const built = /SOURCES = \[(.+)\]/.exec(read('scripts/prepare.mjs'))![1]!.match(/'[^']+'/g)!
  const needed = [...copied, ...built.map((name) => name.slice(1, -1)), 'src', 'workers', 'scripts']
  for (const name of needed) {
    assert.ok(existsSync(new URL(name, ROOT)), name)
    assert.ok(sent.includes(name.split('/')[0]!), `.dockerignore leaves out ${name}`)
  }
})

const HEALTHCHECK = fileURLToPath(new URL('scripts/healthcheck.mjs', ROOT))

async function checkHealth(port: number): Promise<number | null> {
  const env = { PATH: process.env.PATH, SLUICE_PORT: String(port) }
  const [code] = await once(spawn(process.execPath, [HEALTHCHECK], { env }), 'exit')
  return code
}

test('its health check asks /healthz, and fails where the answer is not 200 or none', async (t) => {
  assert.match(dockerfile, /HEALTHCHECK[^\n]+\\\n {2}CMD \["node", "healthcheck\.mjs"\]/)
  const asked: (string | undefined)[] = []
  let status = 200
  const server = createServer(({ url }, response) => {
    asked.push(url)
    response.writeHead(status).end('{}')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  assert.equal(await checkHealth(address.port), 0)
  status = 503
  assert.equal(await checkHealth(address.port), 1)
  assert.deepEqual(asked, ['/healthz', '/healthz'])
  server.close()
  await once(server, 'close')
  assert.equal(await checkHealth(address.port), 1)
})
