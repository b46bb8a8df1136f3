/**
 * Goal: every row has its level and service, whichever table it is in and whoever wrote it.
 * Method: random events of the fields that say them, written by workers into a stream's table and
 * into the one that streams share; and the engine computes both from the payload: all agree. Some
 * by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SERVICE_BYTES_MAX } from '../../../src/limits.ts'
import {
  caseVariants,
  LEVEL_FIELDS,
  LEVEL_WORD_FIELDS,
  PRIORITY_FIELD,
  SERVICE_FIELDS,
  SEVERITY_NUMBER_FIELDS,
  SPELLED_LEVELS,
} from '../../../src/model/event-labels.ts'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ProjectionHarness } from '../../block/projection-harness.ts'
import { testSeed } from '../../support/fuzzing.ts'
import { levelSql, serviceSql } from './label-sql.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)
const harness = new ProjectionHarness()

interface Labels {
  readonly level: string
  readonly service: string
}

async function labelsOf(streamId: StreamId, rest = ''): Promise<Labels[]> {
  return await harness.select<Labels>(streamId, 'level, service', rest)
}

const KNOWN: readonly (readonly [line: string, level: string, service: string])[] = [
  ['{"level":"info","service":"cart"}', 'info', 'cart'],
  ['{"level":"WARNING","service.name":"a","service":"b"}', 'warn', 'a'],
  ['{"severity":"ERROR2","severity_number":18,"resource":{"service.name":"pay"}}', 'error', 'pay'],
  ['{"body":"x","severity":null,"severity_number":21,"resource":{}}', 'fatal', ''],
  ['{"level":30,"app":"web"}', 'info', 'web'],
  ['{"level":6,"kubernetes":{"labels":{"app":"k"}}}', 'info', 'k'],
  ['{"level":"chatty","lvl":"dbug"}', 'debug', ''],
  ['{"log":{"level":"Critical"},"service":{"name":"n"}}', 'fatal', 'n'],
  ['{"level":"err\\u006fr","service":"caf\\u00e9"}', 'error', 'café'],
  ['{"level":"err\\u0000","service":""}', '', ''],
  ['{"level":{"x":"info"},"service":5,"app":["a"]}', '', ''],
  ['{"level":"info","level":"fatal"}', 'fatal', ''],
  ['{"log.level":"info","log":{"level":"error"}}', 'error', ''],
  ['{"level":3.0}', '', ''],
  ['{"level":-0}', 'fatal', ''],
  ['{"Level":"Error","SERVICE":"cart"}', 'error', 'cart'],
  ['{"level":"WARN ","Program":"sshd"}', 'warn', 'sshd'],
  ['{"LEVEL":" INFO","appname":"rsyslogd"}', 'info', 'rsyslogd'],
  ['{"level":"[ERROR]","SYSLOG_IDENTIFIER":"systemd"}', 'error', 'systemd'],
  ['{"level":"\\u001b[32minfo\\u001b[39m","application":"shop"}', 'info', 'shop'],
  ['{"level":"[33mWARN[0m:","programname":"x"}', 'warn', 'x'],
  ['{"PRIORITY":"3","MESSAGE":"m"}', 'error', ''],
  ['{"PRIORITY":6}', 'info', ''],
  ['{"PRIORITY":30}', '', ''],
  ['{"priority":1}', '', ''],
  ['{"@l":"Verbose"}', 'trace', ''],
  ['{"@level":"warn"}', 'warn', ''],
  ['{"LogLevel":"Information"}', 'info', ''],
  ['{"log_level":"CRITICAL","logLevel":"x"}', 'fatal', ''],
  ['{"L":"WARN","T":"now"}', 'warn', ''],
  ['{"l":3}', '', ''],
  ['{"l":"e"}', '', ''],
  ['{"severityLevel":1}', '', ''],
  ['{"SeverityText":"Debug"}', 'debug', ''],
  ['{"severityNumber":17}', 'error', ''],
  ['{"level":400,"level_name":"ERROR"}', 'error', ''],
  ['{"sErViCe":"odd","lEvEl":"fatal"}', 'fatal', 'odd'],
  ['{"resource":{"attributes":{"service.name":"checkout"}}}', '', 'checkout'],
  ['{"service":{"NAME":"a"},"service_name":"b"}', '', 'a'],
  [`{"level":"${' '.repeat(62)}info"}`, '', ''],
  ['[1]', '', ''],
]

test('levels and services are what fields say', async () => {
  const stream = harness.newStream()
  const lines = KNOWN.slice(0, -1)
  await harness.insertLines(
    stream,
    lines.map(([line]) => line),
  )
  const expected = lines.map(([, level, service]) => ({ level, service }))
  assert.deepEqual(await labelsOf(stream), expected)
})

const levelValue = fc.oneof(
  fc.constantFrom(...SPELLED_LEVELS.map(([spelling]) => spelling)).chain((spelling) => {
    const plain = [spelling, spelling.toUpperCase(), ` ${spelling}`, `${spelling}x`]
    const dressed = [`[${spelling}] `, `\u001b[1;31m${spelling}\u001b[0m`, `(${spelling}):`]
    return fc.constantFrom(...plain, ...dressed, `[0m${spelling}`, `x[0m${spelling}`)
  }),
  fc.integer({ min: -1, max: 70 }),
  fc.constantFrom(100, 250, 600, 3.0, 1.5, 2 ** 63, true, null, {}, [], ['info'], 'é', '\u0000'),
)
const serviceName = fc.constantFrom(
  'cart',
  'a\nb',
  'é',
  '\ud800',
  '',
  'x'.repeat(SERVICE_BYTES_MAX),
  '日'.repeat(86),
)
const serviceValue = fc.oneof(
  serviceName,
  fc.constantFrom(1, null, true, {}, ['cart'], { name: 'inner' }, { labels: { app: 'k' } }),
)
/** As SQL finds them. */
const variants = (...lists: readonly (readonly string[])[]) => lists.flat().flatMap(caseVariants)
const member = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      ...variants(LEVEL_FIELDS, LEVEL_WORD_FIELDS, SEVERITY_NUMBER_FIELDS),
      PRIORITY_FIELD,
      'priority',
    ),
    levelValue,
  ),
  fc.tuple(fc.constantFrom(...SERVICE_FIELDS), serviceValue),
  // Of nested names SQL finds no mixture of cases.
  fc.tuple(fc.constantFrom(...variants(SERVICE_FIELDS)), serviceName),
  fc.tuple(fc.constantFrom('log', 'service', 'a', 'resource'), serviceValue),
)

/** One member, its path nested or dotted, sometimes spelled with escapes. */
const rendered = fc
  .tuple(member, fc.boolean(), fc.boolean())
  .map(([[path, value], nests, escapes]) => {
    const quote = (text: string) => {
      const plain = JSON.stringify(text)
      return escapes ? plain.replace(/[ae]/, (c) => `\\u00${c.charCodeAt(0).toString(16)}`) : plain
    }
    const text = typeof value === 'string' ? quote(value) : JSON.stringify(value)
    if (!nests) return `${quote(path)}:${text}`
    const keys = path.split('.')
    return `${keys.map(quote).join(':{')}:${text}${'}'.repeat(keys.length - 1)}`
  })
const event = fc.array(rendered, { maxLength: 6 }).map((members) => `{${members.join(',')}}`)

test('workers and the engine agree, in each kind of table', async () => {
  const lines = fc.sample(event, { numRuns: 4_000, seed })
  const stream = harness.newStream()
  await harness.insertLines(stream, lines)
  const written = await labelsOf(stream)
  assert.ok(new Set(written.map(({ level }) => level)).size === 7, 'all levels and none')
  assert.ok(new Set(written.map(({ service }) => service)).size > 4)

  await harness.insertShared(stream, lines)
  assert.deepEqual(await labelsOf(MIXED_STREAM, `WHERE stream_id = ${stream}`), written)

  const computed = await harness.select<Labels>(
    stream,
    `${levelSql()} AS level, ${serviceSql()} AS service`,
  )
  for (const [i, labels] of computed.entries()) assert.deepEqual(labels, written[i], lines[i])
})
