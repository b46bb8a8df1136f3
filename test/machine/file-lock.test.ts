/**
 * Goal: one holder a file at any time, whichever program takes the lock, and a clear text where
 * there is none.
 * Method: a search path with one program in it at a time.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { tryLockDirectory, tryLockFile } from '../../src/machine/file-lock.ts'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'

const root = makeDirectory()
const { PATH = '' } = process.env

after(() => {
  process.env.PATH = PATH
  removeDirectory(root)
})

/** Has only this program found. */
function usePrograms(...paths: readonly string[]): void {
  const directory = join(root, 'bin')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  for (const path of paths) symlinkSync(path, join(directory, path.split('/').at(-1)!))
  process.env.PATH = directory
}

for (const program of ['flock', 'busybox', 'perl']) {
  test(`${program} locks`, { skip: process.platform !== 'linux' && 'Linux only' }, async (t) => {
    const places = PATH.split(delimiter).map((directory) => join(directory, program))
    const found = places.find((path) => existsSync(path))
    if (found === undefined) return t.skip(`there is no ${program} here`)
    usePrograms(found)
    t.after(() => {
      process.env.PATH = PATH
    })
    const path = join(root, `by-${program}`)
    const first = await tryLockFile(path)
    assert.ok(first)
    assert.equal(await tryLockFile(path), undefined)
    const startedAt = performance.now()
    assert.equal(await tryLockFile(path, 300), undefined)
    assert.ok(performance.now() - startedAt >= 290)
    const waiting = tryLockFile(path, 10_000)
    setTimeout(() => first.close(), 100)
    const second = await waiting
    assert.ok(second)
    second.close()
    second.close()
    const directory = await tryLockDirectory(root)
    assert.ok(directory)
    assert.equal(await tryLockDirectory(root), undefined)
    directory.close()
  })
}

test('one of many gets it', async () => {
  const path = join(root, 'many')
  const locks = await Promise.all(Array.from({ length: 20 }, () => tryLockFile(path)))
  const [only, ...others] = locks.filter((lock) => lock !== undefined)
  assert.ok(only)
  assert.deepEqual(others, [])
  only.close()
})

test('a lock on a file that was replaced while it waited is not taken for one', async () => {
  const path = join(root, 'replaced')
  const first = await tryLockFile(path)
  const waiting = tryLockFile(path, 10_000)
  await new Promise((resolve) => setTimeout(resolve, 200))
  rmSync(path)
  const other = await tryLockFile(path)
  assert.ok(other, 'a new file')
  first?.close()
  setTimeout(() => other.close(), 200)
  const third = await waiting
  assert.equal(await tryLockFile(path), undefined, 'the one that waited has the new file')
  third?.close()
})

test('without a program that locks it says what to install', async (t) => {
  if (process.platform !== 'linux') return t.skip('Linux only')
  usePrograms()
  t.after(() => {
    process.env.PATH = PATH
  })
  await assert.rejects(tryLockFile(join(root, 'none')), /neither flock .*util-linux.* nor perl/)
})
