/**
 * Goal: fields, context, streams and CSV of `search` and `tail` are what was asked for, to the
 * digit, and hints say why nothing was found.
 * Method: the command line against a service, on streams of this test's own.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { type SharedService, shareService } from '../support/service.ts'
import { CommandLine, until } from './run-cli.ts'

const BIG = '12345678901234567890'
let service: SharedService
let api: Api
let cli: CommandLine
let web: Stream
let db: Stream

const line = (n: number) => {
  const level = n % 10 === 0 ? 'error' : 'info'
  return `{"level":"${level}","app":"cart","n":${n},"big":${BIG},"http":{"code":${n}},"f":"=${n}"}`
}

before(async () => {
  service = await shareService()
  api = new Api(service)
  cli = new CommandLine(service)
  web = await api.createStream()
  db = await api.createStream()
  const lines = Array.from({ length: 30 }, (_, index) => line(index + 1))
  await api.ingest(web.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  await api.ingest(db.key, '{"level":"warn","message":"slow","app":"pg"}\n', {
    'content-type': NDJSON_TYPE,
  })
})

after(() => service?.close())

async function found(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cli.run(['search', ...args])
  assert.equal(code, 0, err)
  return out
}

test('fields: columns for people, members in JSON, columns in CSV', async () => {
  const asked = [web.id, 'level:error', '--fields', 'n,http.code,_service,big,none']
  assert.equal(
    await found(...asked),
    [
      'n   http.code  _service  big                   none',
      `10  10         cart      ${BIG}  -`,
      `20  20         cart      ${BIG}  -`,
      `30  30         cart      ${BIG}  -`,
      '',
    ].join('\n'),
  )
  const record = (n: number) => `{"n":${n},"http.code":${n},"_service":"cart","big":${BIG}}\n`
  assert.equal(await found(...asked, '--json'), [10, 20, 30].map(record).join(''))
  const row = (n: number) => `${n},${n},cart,${BIG},\r\n`
  const rows = [10, 20, 30].map(row).join('')
  assert.equal(await found(...asked, '--csv'), `n,http.code,_service,big,none\r\n${rows}`)
  // Without labels the service sends those fields alone.
  assert.equal(
    await found(web.id, 'n:10', '--fields', 'http.code,f', '--json'),
    '{"http.code":10,"f":"=10"}\n',
  )
})

test('CSV for spreadsheets has no formula, and numbers stay', async () => {
  const asked = [web.id, 'n:10', '--fields', 'f,http,n']
  assert.equal(await found(...asked, '--csv'), 'f,http,n\r\n=10,"{""code"":10}",10\r\n')
  assert.equal(await found(...asked, '--csv-safe'), 'f,http,n\r\n\'=10,"{""code"":10}",10\r\n')
  const whole = await found(web.id, 'n:10', '--csv')
  assert.match(whole, /^_event_time,_id,_level,_service,_payload\r\n20[^,]*Z,[\d-]+,error,cart,"\{/)
  const nothing = await cli.run(['search', web.id, 'n:99', '--csv', '--fields', 'n'])
  assert.deepEqual([nothing.code, nothing.out], [1, 'n\r\n'])
})

for (const clock of ['--time-basis=event', '--receipt']) {
  test(`context: groups of what is around matches, each event once (${clock})`, async () => {
    const shown = async (...args: readonly string[]) => {
      const out = await found(web.id, 'n:(10 OR 13 OR 14 OR 20)', clock, '--fields', 'n', ...args)
      return out
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((one) => one.trimEnd())
    }
    assert.deepEqual(
      await shown('-C1'),
      [
        ...['   9', '> 10', '  11', '  12', '> 13', '> 14', '  15', '--', '  19', '> 20', '  21'],
      ].map((one) => one.replace(/^ {3}9/, '  9')),
    )
    assert.deepEqual(await shown('-A', '1'), [
      ...['> 10', '  11', '--', '> 13', '> 14', '  15', '--', '> 20', '  21'],
    ])
    assert.deepEqual(await shown('-B', '2'), [
      ...['  8', '  9', '> 10', '  11', '  12', '> 13', '> 14', '--', '  18', '  19', '> 20'],
    ])
    const json = await found(web.id, 'n:20', clock, '-A1', '--json', '--fields', 'n')
    assert.equal(json, '{"_match":true,"n":20}\n{"_match":false,"n":21}\n')
  })
}

test('several streams: each event tells its own, and has its own neighbours', async () => {
  const asked = [`${web.id},${db.id}`, 'level:warn OR n:30', '-B1', '--fields', '_stream,n']
  const [heading, ...lines] = (await found(...asked)).trimEnd().split('\n')
  const { streams } = JSON.parse(await api.rest('/v1/streams')) as {
    readonly streams: readonly { readonly id: string; readonly name: string }[]
  }
  const nameOf = (id: string) => streams.find((one) => one.id === id)!.name
  assert.match(heading!, /^ {2}_stream +n$/)
  assert.deepEqual(
    lines.map((one) => one.replaceAll(/ +/g, ' ')),
    [` ${nameOf(web.id)} 29`, `> ${nameOf(web.id)} 30`, '--', `> ${nameOf(db.id)} -`],
  )
  const people = await found(`${web.id},${db.id}`, 'level:warn')
  assert.ok(people.includes(`warn  [${nameOf(db.id)}] slow`), people)
  const records = await found(`${web.id},${db.id}`, 'level:warn', '--json')
  assert.equal(JSON.parse(records)._stream, db.id)
})

test('tail: several streams, fields and context', async () => {
  const both = `${web.id},${db.id}`
  const plain = cli.begin(['tail', both, 'tail:*', '--json', '--fields', '_stream,tail,big'])
  const around = cli.begin(['tail', web.id, 'tail:2', '-C1', '--fields', 'tail'])
  try {
    let turn = 0
    await until(async () => {
      const lines = [1, 2, 3].map((n) => `{"tail":${n},"turn":${++turn},"big":${BIG}}`)
      await api.ingest(web.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
      await api.ingest(db.key, '{"tail":4}', { 'content-type': NDJSON_TYPE })
      return /"tail":4/.test(plain.out()) && /> 2\n {2}3\n/.test(around.out())
    })
    assert.match(plain.out(), new RegExp(`^\\{"_stream":".+","tail":1,"big":${BIG}\\}$`, 'm'))
    assert.match(around.out(), /^ {2}tail\n {2}1\n> 2\n {2}3\n/)
  } finally {
    const ended = await Promise.all([plain.stop(), around.stop()])
    assert.deepEqual(
      ended.map(({ code }) => code),
      [0, 0],
    )
  }
})

test('where nothing is found, it is told why', async () => {
  const why = async (...args: readonly string[]) => {
    const { code, err } = await cli.run(['search', ...args])
    assert.equal(code, 1)
    return err.split('\n')[2]
  }
  assert.match((await why(web.id, 'lvel:error'))!, /^there is no field lvel; perhaps level/)
  assert.match((await why(web.id, 'n:10', '--to', '-1d', '--from', '-2d'))!, /^the newest match is/)
  await api.untilProjected(web.id)
  const none = 'events are in the range; none has level:nope'
  assert.ok((await why(web.id, 'n:10 level:nope'))?.endsWith(none))
  const past = ['--from', '2020-01-01T00:00:00Z', '--to', '2020-01-02T00:00:00Z']
  assert.match((await why(db.id, 'n:10', ...past))!, /^there is no field n\b/)
  assert.match((await why(db.id, 'level:nope', ...past))!, /^no event is in the range; there are/)
  const counted = await cli.run(['query', web.id, 'n:10', '--by', 'level', '--from', '-1s'])
  assert.deepEqual([counted.code, counted.out], [1, ''])
  assert.match(counted.err, /\nno event matches\nthe newest match is of /)
  assert.equal((await cli.run(['search', web.id, 'lvel:x', '--json'])).err.split('\n').length, 3)
})
