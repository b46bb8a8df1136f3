/**
 * Goal: one process a data directory, whatever happened to the one before.
 * Method: a second opener in this process and in another one, killed with -9.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDataDirectory } from '../../src/store/data-directory.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { makeDirectory, removeDirectory } from './temporary.ts'

const root = makeDirectory()

after(() => removeDirectory(root))

test('is made for its owner alone and keeps its identity', async () => {
  const path = join(root, 'deep', 'data')
  const first = await openDataDirectory(path)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.match(first.nodeIdentity, /^[0-9a-f-]{36}$/)
  assert.equal(readFileSync(join(path, 'sluice.pid'), 'utf8'), `${process.pid}\n`)
  await first.close()
  await first.close()
  const second = await openDataDirectory(path)
  assert.equal(second.nodeIdentity, first.nodeIdentity)
  await second.close()
})

test('a second process is refused, by whatever path it comes', async () => {
  const path = join(root, 'locked')
  const directory = await openDataDirectory(path)
  symlinkSync(path, join(root, 'link'))
  for (const way of [path, join(root, 'link'), join(root, '.', 'locked')]) {
    await assert.rejects(openDataDirectory(way), (error) => {
      assert.ok(error instanceof StoreError)
      const { message } = error
      assert.equal(
        message,
        `data directory ${directory.path} is in use by process ${process.pid}; ` +
          'stop it or use another --data',
      )
      return true
    })
  }
  await directory.close()
})

test('two directories do not lock each other', async () => {
  const open = await Promise.all([
    openDataDirectory(join(root, 'one')),
    openDataDirectory(join(root, 'two')),
  ])
  for (const directory of open) await directory.close()
})

test('the lock dies with its process, also by kill -9', async () => {
  const path = join(root, 'killed')
  mkdirSync(path)
  const module = new URL('../../src/store/data-directory.js', import.meta.url).href
  const script = `const { openDataDirectory } = await import('${module}')
    await openDataDirectory(process.argv[1]); console.log('open'); setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path])
  await once(child.stdout, 'data')
  await assert.rejects(openDataDirectory(path), new RegExp(`by process ${child.pid};`))
  child.kill('SIGKILL')
  await once(child, 'exit')
  const directory = await openDataDirectory(path)
  await directory.close()
})
