/**
 * Goal: every figure of the bench rests on this corpus, so its properties may not drift.
 * Method: measure a few thousand generated lines.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync, constants } from 'node:zlib'
import { joinLines, loadCorpus } from '../../bench/corpus.ts'

function collectPaths(value: object, prefix: string, paths: Set<string>): void {
  for (const [key, child] of Object.entries(value)) {
    const isBranch = typeof child === 'object' && child !== null && !Array.isArray(child)
    if (isBranch) collectPaths(child, `${prefix}${key}.`, paths)
    else paths.add(prefix + key)
  }
}

function compressionRatio(body: Buffer, pieceBytes: number): number {
  let raw = 0
  let compressed = 0
  for (let start = 0; start + pieceBytes <= body.length; start += pieceBytes) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 }
    raw += pieceBytes
    compressed += brotliCompressSync(body.subarray(start, start + pieceBytes), { params }).length
  }
  return raw / compressed
}

test('JSON events are 640 B on average and have 22 leaf paths', () => {
  const lines = loadCorpus({ kind: 'json', count: 4_000 })
  const meanBytes = joinLines(lines).length / lines.length
  assert(meanBytes > 600 && meanBytes < 680, `mean is ${meanBytes}`)
  const paths = new Set<string>()
  for (const line of lines) collectPaths(JSON.parse(line), '', paths)
  assert.equal(paths.size, 22)
})

test('JSON events hold every kind of value, escapes and letters beyond ASCII', () => {
  const text = loadCorpus({ kind: 'json', count: 2_000 }).join('\n')
  for (const pattern of [/\\n/, /\\"/, /[äöü€]/, /:true/, /:-?\d+\.\d+/, /:\d+[,}]/, /:\["/]) {
    assert.match(text, pattern)
  }
})

test('segments of JSON events compress about as well as real service logs', () => {
  const body = joinLines(loadCorpus({ kind: 'json', count: 4_000 }))
  const ratio = compressionRatio(body, 330_000)
  assert(ratio > 4.9 && ratio < 5.7, `ratio is ${ratio}`)
})

test('text lines are 230 B on average and hold no newline', () => {
  const lines = loadCorpus({ kind: 'text', count: 4_000 })
  const meanBytes = joinLines(lines).length / lines.length
  assert(meanBytes > 215 && meanBytes < 245, `mean is ${meanBytes}`)
  assert(lines.every((line) => !/[\r\n]/.test(line)))
})

test('a seed gives the same lines again, another seed others', () => {
  for (const kind of ['json', 'text'] as const) {
    const lines = loadCorpus({ kind, count: 50, seed: 3 })
    assert.deepEqual(loadCorpus({ kind, count: 50, seed: 3 }), lines)
    assert.notDeepEqual(loadCorpus({ kind, count: 50, seed: 4 }), lines)
    assert.equal(new Set(lines).size, 50)
  }
})

test('a corpus file is repeated up to the count, without empty lines', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-corpus-'))
  const file = join(directory, 'lines.log')
  try {
    writeFileSync(file, 'a\r\n\nb\n')
    assert.deepEqual(loadCorpus({ kind: 'text', count: 5, file }), ['a', 'b', 'a', 'b', 'a'])
    writeFileSync(file, '\n')
    assert.throws(() => loadCorpus({ kind: 'text', count: 5, file }), /holds no lines/)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
