/**
 * Goal: every example of docs/api.md answers as it is written there, and as the API's description
 * says.
 * Method: its shell blocks are run as they are, in order, against a fresh service; an answer has
 * each member that the JSON behind the block shows, with a value of the same kind. What deletes the
 * stream is run last. All answers pass a recorder that compares them with the description.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Api } from '../../support/api.ts'
import { DescribedAnswers, startRecorder } from '../../support/described-answers.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const run = promisify(execFile)
const DOC = fileURLToPath(new URL('../../../../docs/api.md', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-examples-'))
let service: SharedService
let key = ''
let answers: DescribedAnswers
let recorder: Awaited<ReturnType<typeof startRecorder>>

interface Example {
  readonly heading: string
  readonly shell: string
  /** What is written behind it; undefined when nothing is, or it is cut short with `…`. */
  readonly answer: unknown
}

before(async () => {
  service = await shareService()
  const document = await new Api(service).rest('/v1/openapi.json')
  answers = new DescribedAnswers(JSON.parse(document))
  recorder = await startRecorder(service.url, answers)
})

after(async () => {
  recorder?.close()
  await service?.close()
  rmSync(folder, { recursive: true })
})

function readExamples(): Example[] {
  const parts = readFileSync(DOC, 'utf8').matchAll(/^##+ (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm)
  const examples: Example[] = []
  let heading = ''
  for (const [, title, language, body = ''] of parts) {
    if (title !== undefined) heading = title
    else if (language === 'sh') examples.push({ heading, shell: body, answer: undefined })
    else if (language === 'json' && examples.at(-1)?.heading === heading) {
      examples[examples.length - 1] = { ...examples.at(-1)!, answer: tryParse(body) }
    }
  }
  return examples.filter(({ shell }) => shell.includes('curl'))
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text.replaceAll(', …', ''))
  } catch {
    return undefined
  }
}

async function runShell(shell: string): Promise<string> {
  const { host } = new URL(recorder.url)
  const script = shell.replaceAll('localhost:4800', host).replace(/^export .*$/gm, '')
  const env = { PATH: process.env.PATH, TOKEN: service.token, KEY: key }
  const { stdout } = await run('bash', ['-ec', script], { env, cwd: folder })
  return stdout
}

/** The last JSON value that was printed. */
function lastJson(printed: string): unknown {
  const starts = [...printed.matchAll(/^\s*[{[]|(?<=\})\{/gm)].map(({ index }) => index)
  for (const start of starts.reverse()) {
    const value = tryParse(printed.slice(start))
    if (value !== undefined) return value
  }
  return undefined
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function assertLike(answer: unknown, written: unknown, where: string): void {
  const [wanted, got] = [kindOf(written), kindOf(answer)]
  if (wanted === 'null' || got === 'null') return
  assert.equal(got, wanted, where)
  if (wanted !== 'object') return
  for (const [name, value] of Object.entries(written as object)) {
    assert.ok(Object.hasOwn(answer as object, name), `${where} has no "${name}"`)
    if (kindOf(value) !== 'array') {
      assertLike((answer as Record<string, unknown>)[name], value, `${where}.${name}`)
    }
  }
}

const EVENTS = [
  { level: 'error', message: 'card declined', took_ms: 12, http: { status: 502 } },
  { level: 'info', message: 'timeout', took_ms: 9, http: { status: 404 }, log: { level: 'warn' } },
]

test('each example runs, and answers as it is written', async (t) => {
  const examples = readExamples()
  assert.ok(examples.length > 20, `${examples.length} examples found`)
  const isLast = ({ shell }: Example) => shell.includes('-X DELETE')
  const api = new Api(service)
  for (const { heading, shell, answer } of examples.toSorted(
    (a, b) => Number(isLast(a)) - Number(isLast(b)),
  )) {
    await t.test(`${heading}: ${shell.split('\n')[0]}`, async () => {
      const printed = await runShell(shell)
      const value = lastJson(printed)
      if (answer !== undefined) {
        assert.ok(value !== undefined, `${heading} printed no JSON: ${printed}`)
        assertLike(value, answer, heading)
      } else assert.doesNotMatch(printed, /urn:sluice:problem/)
    })
    if (key === '') {
      // The first example makes the stream; the others are about what is in it.
      key = (await api.createKey('1')).key
      assert.equal((await api.ingest(key, JSON.stringify(EVENTS))).status, 200)
      await api.untilCounted('1', EVENTS.length)
    }
  }
})

test('each answer to an example is as the description says', () => {
  assert.deepEqual(answers.faults, [])
  assert.ok(answers.compared.size > 15, `${answers.compared.size} operations`)
})
