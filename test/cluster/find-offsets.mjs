// node find-offsets.mjs LIBCHDB.so > offsets.h
// Finds what chhost.c patches, in any x86-64 libchdb.so of about this age, by strings and patterns.
// Run it when the chdb package is updated; it fails loudly when a pattern no longer fits.
import { openSync, readSync } from 'node:fs'

const fd = openSync(process.argv[2], 'r')
const read = (at, n) => {
  const b = Buffer.allocUnsafe(n)
  let got = 0
  while (got < n) {
    const r = readSync(fd, b, got, n - got, at + got)
    if (r <= 0) break
    got += r
  }
  return b.subarray(0, got)
}
const fail = (what) => {
  console.error(`not found: ${what}`)
  process.exit(1)
}
const eh = read(0, 64)
const sections = (() => {
  const shoff = Number(eh.readBigUInt64LE(40)),
    n = eh.readUInt16LE(60),
    names = eh.readUInt16LE(62)
  const raw = read(shoff, 64 * n),
    all = []
  for (let i = 0; i < n; i++)
    all.push({
      name: raw.readUInt32LE(64 * i),
      addr: Number(raw.readBigUInt64LE(64 * i + 16)),
      off: Number(raw.readBigUInt64LE(64 * i + 24)),
      size: Number(raw.readBigUInt64LE(64 * i + 32)),
    })
  const text = read(all[names].off, all[names].size)
  return Object.fromEntries(
    all.map((s) => [text.toString('latin1', s.name, text.indexOf(0, s.name)), s]),
  )
})()
const T = sections['.text'],
  R = sections['.rodata']
const text = read(T.off, T.size),
  rodata = read(R.off, R.size)
const note = sections['.note.gnu.build-id']
const buildId = read(note.off, note.size).subarray(16).toString('hex')
const stringAt = (s) => {
  const i = rodata.indexOf(s)
  if (i < 0) fail(s)
  return R.addr + i
}
/** Positions of 4-byte fields in the code that point at one of the addresses. */
function references(targets) {
  const found = new Map(targets.map((t) => [t, []]))
  const byOffset = new Map(targets.map((t) => [t - T.addr, t]))
  const maybe = new Uint8Array(65536)
  for (const offset of byOffset.keys()) maybe[offset & 0xffff] = 1
  for (let p = 0; p + 4 <= text.length; p++) {
    const v = p + 4 + (text[p] | (text[p + 1] << 8) | (text[p + 2] << 16) | (text[p + 3] << 24))
    if (maybe[v & 0xffff] === 1 && byOffset.has(v)) found.get(byOffset.get(v)).push(p)
  }
  return found
}
/** Start of the function that holds a position: after padding, aligned. */
function start(p) {
  for (let q = p & ~15; q > 0; q -= 16) if (text[q - 1] === 0xcc && text[q] !== 0xcc) return q
  return fail('function start')
}
function next(p) {
  for (let q = (p & ~63) + 64; q < text.length; q += 64)
    if (text[q - 1] === 0xcc && text[q] !== 0xcc) return q
  return fail('next function')
}
const callTarget = (p) => p + 5 + text.readInt32LE(p + 1)
const bytes = (p, hex) => text.subarray(p, p + hex.length / 2).toString('hex') === hex

// The vtable of DDLWorker, by its type's name and the relocations that point there.
const relas = read(sections['.rela.dyn'].off, sections['.rela.dyn'].size)
const pointing = (address) => {
  const out = []
  for (let i = 0; i < relas.length; i += 24)
    if (
      relas.readUInt32LE(i + 16) === address &&
      relas.readUInt32LE(i + 20) === 0 &&
      relas.readUInt32LE(i + 8) === 8
    )
      out.push(Number(relas.readBigUInt64LE(i)))
  return out
}
const typeName = stringAt('\0N2DB9DDLWorkerE\0') + 1
const typeInfo = pointing(typeName)[0] - 8
const addend = (at) => {
  for (let i = 0; i < relas.length; i += 24)
    if (relas.readUInt32LE(i) === at) return relas.readUInt32LE(i + 16)
  return 0
}
const vtables = pointing(typeInfo)
  .map((a) => a + 8)
  .filter((a) => addend(a) >= T.addr && addend(a) < T.addr + T.size)

const S = {
  address: stringAt("Parameter 'interserver_http(s)_port' required"),
  factory: stringAt('InterserverIOHTTPHandler-factory'),
  create: stringAt('CreateTablesThreadPool'),
  drop: stringAt('DropTablesThreadPool'),
  disabled: stringAt('Replicated DDL queries are disabled'),
  uninitialized: stringAt('DDL background thread is not initialized'),
  cleanup: stringAt('Started DDLWorker cleanup thread'),
}
const refs = references([...Object.values(S), ...vtables])
const one = (t, what) => refs.get(t)[0] ?? fail(what)

const address = start(one(S.address, 'interserver address'))
let credentials = address - 64
while (!(text[credentials - 1] === 0xcc && text[credentials] !== 0xcc)) credentials -= 64
const scheme = next(address)
const factory = start(one(S.factory, 'handler factory'))
const createPool = start(one(S.create, 'CreateTables pool'))
const dropPool = start(one(S.drop, 'DropTables pool'))
const second = references([T.addr + dropPool, T.addr + start(one(S.cleanup, 'cleanup thread'))])
// StaticThreadPool::initialize is called soon after the pool is got, wherever it is set up.
const votes = new Map()
for (const p of second.get(T.addr + dropPool))
  for (let q = p + 4; q < p + 70; q++)
    if (bytes(q - 2, '31d2e8')) votes.set(callTarget(q), (votes.get(callTarget(q)) ?? 0) + 1)
const initialize =
  [...votes].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? fail('StaticThreadPool::initialize')
// `if (!canPerformReplicatedDDLQueries()) throw`: a jump to the block that throws.
let can
for (const p of refs.get(S.disabled)) {
  for (let q = start(p); q < p && can === undefined; q++) {
    if (bytes(q, 'e8') && bytes(q + 5, '84c00f84')) {
      const to = q + 13 + text.readInt32LE(q + 9)
      if (to > p - 0x40 && to < p) can = callTarget(q)
    }
  }
}
const construct =
  vtables
    .flatMap((v) => refs.get(v))
    .map(start)
    .find((f) => bytes(f, '554157415641554154534881ec')) ?? fail('DDLWorker::DDLWorker')
const startup = start(second.get(T.addr + start(one(S.cleanup)))[0] ?? fail('DDLWorker::startup'))
const get = start(one(S.uninitialized, 'getDDLWorker'))
let worker
for (let q = get; q < get + 0x100; q++)
  if (bytes(q, '498b034c8bb0') || bytes(q, '488b034c8bb0')) {
    worker = text.readUInt32LE(q + 6)
    break
  }
if (!bytes(address, '4156534883ec48')) fail('shape of getInterserverIOAddress')
if (!bytes(credentials, '41574156534c8b3f')) fail('shape of getInterserverCredentials')
if (!bytes(scheme, '488b0680b8')) fail('shape of getInterserverScheme')
if (!bytes(factory, '5541574156415541545348' + '81ec98000000'))
  fail('shape of createHandlerFactory')
const out = {
  OFF_IO_ADDRESS: address,
  OFF_IO_CREDENTIALS: credentials,
  OFF_IO_SCHEME: scheme,
  OFF_FACTORY: factory,
  OFF_CREATE_TABLES_POOL: createPool,
  OFF_POOL_INITIALIZE: initialize,
  OFF_CAN_REPLICATED_DDL: can ?? fail('canPerformReplicatedDDLQueries'),
  OFF_DDL_WORKER: construct,
  OFF_DDL_STARTUP: startup,
}
console.log(`/* by find-offsets.mjs */\n#define BUILD_ID "${buildId}"`)
for (const [name, p] of Object.entries(out))
  console.log(`#define ${name} 0x${(T.addr + p).toString(16)}ul`)
console.log(`#define SHARED_DDL_WORKER 0x${(worker ?? fail('ddl_worker')).toString(16)}`)
