/**
 * Goal: an archive that is whole is read as it was written, with any tar program too; one that is
 * cut off, changed or no archive at all is told from it, whatever byte that begins with.
 * Method: archives in memory, in random pieces; each of their bytes changed, each length.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORMAT, MANIFEST, partName, ROWS, SUMS } from '../../src/backup/manifest.ts'
import { NO_PROGRESS, tellProgress } from '../../src/backup/progress.ts'
import { readBackup } from '../../src/backup/read-backup.ts'
import { ArchiveError, readTar, TarWriter } from '../../src/backup/tar.ts'

const TABLES = [
  { name: 'streams', columns: ['stream_id', 'name'], bytes: 10 },
  { name: 'segments', columns: ['payload'], bytes: 2_000 },
]

async function archive(): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  const tar = new TarWriter(async (bytes) => {
    pieces.push(Uint8Array.from(bytes))
  })
  const contents = { takenAt: '2026-01-31T00:00:00Z', events: 3, counters: [], migrations: [] }
  const manifest = { format: FORMAT, ...contents, tables: TABLES }
  await tar.add(MANIFEST, Buffer.from(JSON.stringify(manifest)))
  await tar.add(partName('streams', 0), Buffer.from('one'))
  await tar.add(partName('segments', 0), Buffer.alloc(1_000, 'a'))
  await tar.add(partName('segments', 1), Buffer.alloc(512, 'b'))
  await tar.add(ROWS, Buffer.from('{"streams":1,"segments":2}'))
  await tar.add(SUMS, Buffer.from(tar.sums.join('')))
  await tar.end()
  return Buffer.concat(pieces)
}

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Uint8Array, size = 700, rows = { streams: 1, segments: 2 }) {
  const found = new Map<string, string>()
  await readBackup(inPieces(bytes, size), {
    begin: async () => async (table, _columns, chunks) => {
      let text = ''
      for await (const chunk of chunks) text += Buffer.from(chunk).toString()
      found.set(table, text)
      return rows[table as keyof typeof rows]
    },
    progress: NO_PROGRESS,
    signal: new AbortController().signal,
  })
  return found
}

test('what was written is read, however the bytes come', async () => {
  const whole = await archive()
  for (const size of [11, 512, 513, 100_000]) {
    const found = await read(whole, size)
    assert.equal(found.get('streams'), 'one')
    assert.equal(found.get('segments'), 'a'.repeat(1_000) + 'b'.repeat(512))
  }
})

test('an archive that is cut off anywhere is refused', async () => {
  const whole = await archive()
  const end = whole.length - 1_024 // Two blocks of zeros, which tar programs want.
  for (let length = 0; length < end; length += 397) {
    await assert.rejects(read(whole.subarray(0, length)), ArchiveError, `${length} bytes`)
  }
})

test('a byte that is not as it was written is found', async () => {
  const whole = await archive()
  for (let at = 0; at < whole.length; at += 141) {
    const damaged = Uint8Array.from(whole)
    damaged[at] = damaged[at]! ^ 0x21
    const failed = await read(damaged).then(
      () => undefined,
      (cause: unknown) => cause,
    )
    // Bytes that only fill up a block mean nothing.
    const isFill = whole[at] === 0 && failed === undefined
    assert.ok(isFill || failed instanceof Error, `byte ${at}`)
  }
})

test('what is damaged is named, and rows that are missing', async () => {
  const whole = await archive()
  const damaged = Uint8Array.from(whole)
  damaged[whole.indexOf('aaaa')] = 0x7a
  await assert.rejects(read(damaged), /tables\/segments\/000000.copy is not as it was written/)
  await assert.rejects(read(whole, 700, { streams: 1, segments: 1 }), /segments has 1 rows/)
  await assert.rejects(read(Buffer.from('PK\x03\x04'.padEnd(2_000))), /no backup of Sluice/)
  const two = whole.subarray(0, whole.lastIndexOf(MANIFEST) + 100)
  await assert.rejects(read(two), /ends early, at byte \d+: the backup was broken off/)
})

test('a name, a size or a manifest of hostile making is refused', async () => {
  const pieces: Uint8Array[] = []
  const tar = new TarWriter(async (bytes) => {
    pieces.push(Uint8Array.from(bytes))
  })
  await assert.rejects(tar.add('x'.repeat(101), new Uint8Array(0)), /too long/)
  await tar.add(MANIFEST, Buffer.from('{"format":99}'))
  await tar.end()
  await assert.rejects(read(Buffer.concat(pieces)), /has format 99; this Sluice reads format 1/)
  const names: string[] = []
  for await (const { name, body } of readTar(inPieces(await archive(), 999))) {
    names.push(name)
    for await (const _ of body);
  }
  assert.equal(names.length, 6)
})

test('progress is told in lines now and then, on a terminal in place', () => {
  for (const isTTY of [false, true]) {
    let nowMs = 0
    const lines: string[] = []
    const progress = tellProgress({ isTTY, write: (text) => lines.push(text) }, () => nowMs)
    progress.begin(100 * 1024 * 1024)
    for (let second = 1; second <= 20; second++) {
      nowMs = second * 1_000
      progress.add(1024 * 1024)
    }
    progress.end()
    assert.equal(lines.length, isTTY ? 21 : 3)
    assert.match(
      lines[0]!,
      isTTY ? /^\r1\.0 of about/ : /^10\.0 of about 100\.0 MiB, 1\.0 MiB\/s\n/,
    )
  }
})
