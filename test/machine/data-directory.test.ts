/**
 * Goal: one process a data directory, whatever happened to the one before.
 * Method: a second opener in this process and in another one, killed with -9.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDataDirectory } from '../../src/machine/data-directory.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

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
  const module = new URL('../../src/machine/data-directory.js', import.meta.url).href
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

function modeOf(path: string): number {
  return statSync(path).mode & 0o7777
}

test('one that was open to others is closed to them, when it is empty or ours', async () => {
  const path = join(root, 'open')
  mkdirSync(path)
  mkdirSync(join(path, 'lost+found'))
  for (const mode of [0o755, 0o750, 0o2775, 0o701]) {
    chmodSync(path, mode)
    const log = recordingLog()
    const directory = await openDataDirectory(path, log)
    assert.equal(modeOf(path) & 0o777, 0o700)
    assert.match(log.lines.join(), /^the data directory was open to others/)
    await directory.close()
  }
  const log = recordingLog()
  await (await openDataDirectory(path, log)).close()
  assert.deepEqual(log.lines, [])
})

test('one that is open to others and serves them is refused and stays as it is', async () => {
  const path = join(root, 'home')
  mkdirSync(path)
  writeFileSync(join(path, 'letter'), 'x')
  chmodSync(path, 0o755)
  await assert.rejects(
    openDataDirectory(path),
    /home is open to other users \(mode 755\) and holds files of others; as --data name a dir/,
  )
  assert.equal(modeOf(path), 0o755)
  await (await openDataDirectory(join(path, 'sluice'))).close()
  chmodSync(path, 0o700)
  await (await openDataDirectory(path)).close()
})

test('one that is open to us and belongs to another user is refused', async (t) => {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return t.skip('only root can tell')
  const path = makeDirectory()
  t.after(() => removeDirectory(path))
  chmodSync(path, 0o777)
  process.seteuid(65_534)
  try {
    await assert.rejects(openDataDirectory(path), /\(mode 777\) and belongs to another user; as/)
  } finally {
    process.seteuid(0)
  }
})

const NOBODY = 65_534

test('root takes no directory of another user, but what a start as that user made', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root opens directories of others')
  const path = join(root, 'theirs')
  for (const mode of [0o700, 0o755, 0o777]) {
    mkdirSync(path)
    chownSync(path, NOBODY, NOBODY)
    chmodSync(path, mode)
    await assert.rejects(openDataDirectory(path), (error) => {
      assert.ok(error instanceof StoreError)
      assert.match(
        error.message,
        /theirs belongs to another user \(uid 65534\): start as that user/,
      )
      return true
    })
    assert.equal(modeOf(path), mode, 'it stays as it is')
    rmdirSync(path)
  }
  mkdirSync(path)
  await (await openDataDirectory(path)).close()
  for (const owner of [0, NOBODY]) {
    chownSync(path, NOBODY, NOBODY)
    chownSync(join(path, 'node-identity'), owner, owner)
    const log = recordingLog()
    await (await openDataDirectory(path, log)).close()
    assert.match(log.lines.join(), /^the data directory belongs to another user, who can change it/)
    assert.equal(statSync(path).uid, NOBODY)
  }
  unlinkSync(join(path, 'node-identity'))
  symlinkSync('/etc/hostname', join(path, 'node-identity'))
  await assert.rejects(openDataDirectory(path), /belongs to another user/)
})

test('root takes a volume that belongs to another user', (t) => {
  const path = join(root, 'a volume')
  mkdirSync(path)
  const module = new URL('../../src/machine/data-directory.js', import.meta.url).href
  const script = `const { openDataDirectory } = await import('${module}')
    const { close } = await openDataDirectory(process.argv[1]); await close(); console.log('open')`
  const commands = 'mount --bind "$1" "$1" || exit 77; exec "$0" --input-type=module -e "$2" "$1"'
  const run = (shell: readonly string[], text: string) =>
    spawnSync(shell[0]!, [...shell.slice(1), text, process.execPath, path, script], {
      encoding: 'utf8',
    })
  const probe = run(['unshare', '-m', 'sh', '-c'], 'mount --bind "$1" "$1"')
  if (probe.status !== 0) return t.skip(`no mounts here: ${probe.stderr}`)
  chownSync(path, NOBODY, NOBODY)
  chmodSync(path, 0o755)
  const mounted = run(['unshare', '-m', 'sh', '-c'], commands)
  assert.equal(mounted.stdout, 'open\n', mounted.stderr)
  assert.equal(modeOf(path), 0o700)
  assert.equal(statSync(path).uid, NOBODY)
})
