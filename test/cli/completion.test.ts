/**
 * Goal: `sluice` is one command, from wherever it is linked to: the command line, and with `serve`
 * the service. A shell completes its commands, options, values and the names of streams.
 * Method: bin/sluice through a link, in another folder; bash runs its own completion.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { helpText } from '../../src/config-help.ts'
import { version } from '../../src/version.ts'
import { Api } from '../support/api.ts'
import { ONLY_LONG } from '../support/fuzzing.ts'
import { type SharedService, shareService } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-bin-'))
const link = join(folder, 'sluice')
let service: SharedService

before(async () => {
  symlinkSync(join(ROOT, 'bin', 'sluice'), join(folder, 'first'))
  symlinkSync('first', link)
  service = await shareService()
})

after(async () => {
  rmSync(folder, { recursive: true })
  await service?.close()
})

function run(program: string, args: readonly string[], input = '') {
  const PATH = [folder, dirname(process.execPath), process.env.PATH].join(delimiter)
  const env = { PATH, SLUICE_URL: service.url, SLUICE_TOKEN: service.token }
  const { status, stdout, stderr } = spawnSync(program, args, {
    ...{ cwd: folder, env, input },
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}

test('the command is what package.json links: the command line, and the service', {
  skip: ONLY_LONG,
}, () => {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.deepEqual(bin, { sluice: 'bin/sluice' })
  assert.deepEqual(run(link, ['--version']), { code: 0, out: `${version}\n`, err: '' })
  assert.equal(run(link, ['streams']).code, 0)
  const { out } = run(link, ['serve', '--help'])
  assert.equal(out.trimEnd(), helpText().trimEnd())
  assert.equal(run(link, ['serve', '--port', 'x']).code, 2)
  const meant = run(link, ['--port', '4800'])
  assert.equal(meant.code, 2)
  assert.match(meant.err, /sluice serve/)
})

/** What bash proposes for the last of the words. */
function complete(script: string, ...words: readonly string[]): string[] {
  const line = `${script}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sluice
[ "\${#COMPREPLY[@]}" -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`
  const { code, out, err } = run('bash', ['-s', '--', link, ...words], line)
  assert.deepEqual([code, err], [0, ''])
  return out === '' ? [] : out.trimEnd().split('\n')
}

test('bash completes commands, options, values, and names of streams', async () => {
  const api = new Api(service)
  const name = `odd $name ${Date.now()}`
  await api.rest('/v1/streams', 'POST', { name })
  const { out: script } = run(link, ['completion', 'bash'])
  assert.deepEqual(complete(script, 'se'), ['search', 'send', 'serve'])
  assert.deepEqual(complete(script, 'search', '--ti'), ['--time-basis'])
  assert.deepEqual(complete(script, 'search', 'web', '--time-basis', ''), ['event', 'receipt'])
  assert.deepEqual(complete(script, 'search', 'web', '--color', '=', 'al'), ['always'])
  assert.deepEqual(complete(script, 'query', 'web', '--from', ''), [], 'any time')
  assert.deepEqual(complete(script, 'completion', ''), ['bash', 'zsh', 'fish'])
  assert.deepEqual(complete(script, 'keys', 'revo'), ['revoke'])
  const quoted = name.replaceAll(' ', '\\ ').replace('$', '\\$')
  assert.deepEqual(complete(script, 'search', 'odd'), [quoted])
  assert.deepEqual(complete(script, 'search', '--from', '-1h', 'odd\\ '), [quoted])
  assert.deepEqual(complete(script, 'keys', 'create', 'odd'), [quoted])
  assert.deepEqual(complete(script, 'search', 'web', 'odd'), [], 'there a query stands')
  assert.deepEqual(complete(script, 'send', 'odd'), [], 'there a file stands')
})

test('all scripts have all commands and options', () => {
  const { out: overview } = run(link, ['--help'])
  const commands = [...overview.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = run(link, ['completion', shell])
    assert.equal(code, 0)
    for (const name of commands) assert.match(out, new RegExp(`\\b${name}\\b`), shell)
    for (const option of ['time-basis', 'csv-safe', 'conflict', 'scopes']) {
      assert.match(out, new RegExp(shell === 'fish' ? `-l ${option}\\b` : `--${option}\\b`), shell)
    }
  }
})
