/**
 * Goal: what the command line tells of alerts is all of it, to the digit, and of the rules that are
 * meant.
 * Method: the command in this process, on answers that are written here.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { alerts } from '../../src/cli/alerts/alerts.ts'
import { Client } from '../../src/cli/client.ts'
import { Terminal } from '../../src/cli/terminal.ts'

const BIG = '9007199254740993'
const NEAR = '9007199254740992'
const RULE =
  '{"id":"1","name":"web","owner":"ann","version":3,"query":"","aggregate":{"fn":"count"},' +
  '"condition":{"op":">","value":1},"window":"1m","every":"1m","for":{"of":1,"in":1},' +
  '"group_by":["n"],"channels":[],"paused":true,"problem":null,"groups_firing":1,' +
  '"groups_pending":0,"failures":0}'

type Answers = Readonly<Record<string, string>>

class Answering extends Client {
  readonly asked: string[] = []
  readonly #answers: Answers

  constructor(answers: Answers) {
    super('http://localhost:1', 'token', new AbortController().signal)
    this.#answers = answers
  }

  override async send(path: string, options: Parameters<Client['send']>[1]): Promise<Response> {
    const query = Object.entries(options.query ?? {}).flatMap(([name, value]) => {
      return value === undefined ? [] : [`${name}=${value}`]
    })
    const asked = `${options.method} ${[path, ...query].join(' ')}`
    this.asked.push(asked)
    const answer = this.#answers[asked]
    assert(answer !== undefined, `nothing answers ${asked}`)
    return new Response(answer)
  }
}

async function run(
  answers: Answers,
  positionals: readonly string[],
  values: Readonly<Record<string, string | boolean>> = {},
) {
  const client = new Answering(answers)
  const terminal = new Terminal('never', {})
  const lines: string[] = []
  terminal.line = (text) => void lines.push(text)
  terminal.json = (text) => void lines.push(text)
  terminal.note = (text) => void lines.push(text)
  const { signal } = new AbortController()
  const code = await alerts.run({ client, terminal, values, positionals, env: {}, signal })
  return { code, asked: client.asked, out: lines.join('\n') }
}

test('silences are listed page by page', async () => {
  const silence = (id: number) =>
    `{"id":"${id}","matchers":[{"name":"a","value":"b","is_regex":true,"is_equal":false}],` +
    '"from":"f","to":"t","comment":""}'
  const { code, out } = await run(
    {
      'GET alerts/silences state=active': `{"silences":[${silence(1)}],"next":"1"}`,
      'GET alerts/silences state=active after=1': `{"silences":[${silence(2)}],"next":null}`,
    },
    ['silences'],
  )
  assert.equal(code, 0)
  assert.match(out, /^1 +a!~b .*\n2 +a!~b /m)
})

test('values of groups are told to the digit, and name groups', async () => {
  const transitions =
    `{"transitions":[{"kind":"firing","reason":null,"group":[${BIG},"x"],` +
    '"window":{"from":"f","to":"t"},"value":2,"event_count":2}],"next":null}'
  const answers = { 'GET alerts/rules/web/transitions limit=50': transitions }
  assert.match((await run(answers, ['history', 'web'])).out, new RegExp(`firing +${BIG} x +2`))
  const json = await run(answers, ['history', 'web'], { json: true })
  assert.match(json.out, new RegExp(`"group":\\[${BIG},"x"\\]`))
  const group = (value: string, fingerprint: string) =>
    `{"group":[${value}],"fingerprint":"${fingerprint}","state":"firing"}`
  const known = await run(
    {
      'GET alerts/rules/web/groups': `{"groups":[${group(NEAR, 'e')},${group(BIG, 'f')}]}`,
      'POST alerts/rules/web/groups/f/acknowledge': '',
    },
    ['ack', 'web', BIG],
  )
  assert.deepEqual([known.code, known.asked.length], [0, 2])
})

test('messages of one rule; rules of an owner', async () => {
  const page = '{"messages":[],"next":null}'
  const asked = 'GET alerts/messages state=dead rule=web owner=ann limit=50'
  const { code } = await run({ [asked]: page }, ['messages'], { rule: 'web', owner: 'ann' })
  assert.equal(code, 1)
  const others = RULE.replace('"ann"', '"bob"').replace('"paused":true', '"paused":false')
  const list = { 'GET alerts/rules': `{"rules":[${RULE},${others}],"next":null}` }
  const lines = (await run(list, ['list'])).out.split('\n')
  assert.match(lines[0]!, /^STATE +OWNER +RULE/)
  assert.match(lines[1]!, /^firing 1 +bob +web +count > 1 in 1m +n /)
  assert.match(lines[2]!, /^firing, paused 1 +ann +web/)
  assert.match((await run(list, ['list'], { owner: 'ann' })).out, /^STATE +RULE.*\nfiring, paused/)
})

test('channels of an owner; what is about nobody else takes no owner', async () => {
  const asked = { 'GET alerts/channels owner=ann': '{"channels":[]}' }
  assert.equal((await run(asked, ['channels'], { owner: 'ann' })).code, 0)
  for (const words of [['silences'], ['unsilence', '1'], ['send-again', '1']]) {
    await assert.rejects(run({}, words, { owner: 'ann' }), /takes no --owner/)
  }
})

test("an admin changes another owner's rule", async () => {
  const answers = {
    'GET alerts/rules/web owner=ann': RULE,
    'PUT alerts/rules/web owner=ann': RULE,
    'DELETE alerts/rules/web owner=ann': '',
  }
  const resumed = await run(answers, ['resume', 'web'], { owner: 'ann' })
  assert.deepEqual([resumed.code, resumed.out], [0, 'web goes on'])
  const gone = await run(answers, ['delete', 'web'], { owner: 'ann' })
  assert.deepEqual(gone.asked, [
    'GET alerts/rules/web owner=ann',
    'DELETE alerts/rules/web owner=ann',
  ])
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
  try {
    const file = join(folder, 'web.json')
    writeFileSync(file, RULE)
    const put = await run(answers, ['apply', file], { owner: 'ann' })
    assert.deepEqual([put.code, put.out], [0, 'web: unchanged'])
    assert.deepEqual(put.asked, [
      ...['GET alerts/rules/web owner=ann', 'PUT alerts/rules/web owner=ann'],
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
