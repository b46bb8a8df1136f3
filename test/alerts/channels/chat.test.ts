/**
 * Goal: whatever an event holds, a body is valid JSON of the members that its template has, within
 * the service's bounds, and mentions nobody; a template that could not be rendered is refused.
 * Method: each kind with hostile values, and with those that fast-check draws (it prints its seed).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ChatKind, renderChat } from '../../../src/alerts/channels/chat.ts'
import { saidText } from '../../../src/alerts/channels/plain-text.ts'
import { checkTemplate, renderTemplate } from '../../../src/alerts/channels/template.ts'
import type { AlertMessage } from '../../../src/alerts/webhook-body.ts'
import { IngestError } from '../../../src/errors.ts'
import {
  ALERT_BODY_CHARS_MAX,
  ALERT_TEMPLATE_BYTES_MAX,
  ALERT_TEMPLATE_PLACEHOLDERS_MAX,
} from '../../../src/limits.ts'
import { alertOf, HOSTILE, messageWith } from './messages.ts'

const KINDS = ['slack', 'mattermost', 'discord', 'teams', 'google_chat', 'ntfy'] as const

// biome-ignore lint/suspicious/noExplicitAny: tests look into any body.
const render = (kind: ChatKind, message: AlertMessage, template?: unknown): any =>
  JSON.parse(JSON.stringify(renderChat(kind, message, template)))

/** All members and places, without their texts. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]))
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const one of Object.values(value)) yield* textsIn(one)
  }
}

/** How its services call somebody. */
const MENTIONS: Readonly<Record<(typeof KINDS)[number], RegExp>> = {
  slack: /<[!@#]/,
  mattermost: /@[a-z]/i,
  discord: /@(?:everyone|here|all|channel|\w)/i,
  teams: /<at>\w/,
  google_chat: /<users/,
  ntfy: /\u202e/,
}

function assertHarmless(kind: (typeof KINDS)[number], hostile: string): void {
  const of = { samples: [{ id: '1', event: { message: hostile } }], detail: hostile }
  const alerts = [
    alertOf({ service: hostile }, { ...of, annotations: { summary: hostile } }),
    alertOf({ service: 'b' }, { generatorURL: hostile }),
  ]
  const body = render(kind, messageWith(alerts, { reason: 'new', externalURL: hostile }))
  const plain = render(kind, messageWith([alertOf({ service: 'a' }), alertOf({ service: 'b' })]))
  const shape = shapeOf(body) as Record<string, unknown>
  const expected = shapeOf(plain) as Record<string, unknown>
  // A link that is none is left out.
  const drop = (json: unknown) =>
    JSON.stringify(json).replace(/,?"(?:title_link|url|click)":"string"/g, '')
  assert.equal(drop(shape), drop(expected))
  for (const text of textsIn(body)) {
    assert.doesNotMatch(text, MENTIONS[kind], `${kind}: ${JSON.stringify(hostile)}`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
    assert.doesNotMatch(text, /[\u0000-\u0008\u001b\u202e]/)
    assert.ok(text.length <= 8_000, `${kind}: ${text.length}`)
  }
}

test('hostile texts change nothing but texts, and call nobody', () => {
  for (const kind of KINDS) for (const hostile of HOSTILE) assertHarmless(kind, hostile)
  fc.assert(fc.property(fc.constantFrom(...KINDS), fc.string({ unit: 'binary' }), assertHarmless), {
    numRuns: 200,
  })
})

test('what is markup is shown as it is', () => {
  const of = (service: string) => messageWith([alertOf({ service, team: '' })])
  const told = (kind: ChatKind, service: string) =>
    render(kind, of(service), { t: '{{group.service}}' }).t
  assert.equal(told('slack', '<!here> & *x*'), '&lt;!here&gt; &amp; *x*')
  assert.equal(told('mattermost', '@all *x* [y](z)'), '@\u200ball \\*x\\* \\[y\\](z)')
  assert.equal(told('google_chat', '<users/all>'), '<\u200busers/all>')
  assert.equal(told('template', '"{{rule}}"\n\u0000<'), '"{{rule}}"\n<')
})

test('what people read of one alert, of many, and of what is resolved', () => {
  const one = render('slack', messageWith([alertOf({ service: 'web' })])).attachments[0]
  assert.equal(one.title, '[FIRING] slow: service=web, team=web')
  assert.equal(one.title_link, 'https://sluice.test/#/explore?q=a')
  assert.equal(one.color, '#d63232')
  assert.deepEqual(one.text.split('\n').slice(0, 2), [
    'Answers take long',
    '*service=web, team=web*: 53.25 &gt; 20 (2026-05-05 05:04:00 to 05:05:00 UTC, 7 events)',
  ])
  assert.match(one.text, /```\nit took 53 s\n```\n<https:\/\/sluice\.test\/#\/explore\?q=a\|/)

  const many = Array.from({ length: 50 }, (_, n) => alertOf({ service: `s${n}` }))
  const { title, text } = render('slack', messageWith(many, { truncatedAlerts: 50 })).attachments[0]
  assert.equal(title, '[FIRING: 100] slow')
  assert.match(text, /and \d+ more/)
  assert.ok(text.length <= 2_900, `${text.length}`)
  for (const line of text.split('\n').filter((each: string) => each.startsWith('*'))) {
    assert.match(line, /^\*service=s\d+\*: 53\.25 .*\) <https:.*\|events>$/, 'no line is cut')
  }

  const over = { status: 'resolved', reason: 'resolved' } as const
  const mixed = messageWith([alertOf({ service: 'a' }), alertOf({ service: 'b' }, over)])
  assert.equal(render('discord', mixed).embeds[0].title, '\\[FIRING, RESOLVED\\] slow')
  const resolved = render('discord', messageWith([alertOf({ service: 'b' }, over)])).embeds[0]
  assert.deepEqual([resolved.color, resolved.timestamp], [0x2ea043, '2026-05-05T05:05:02.000Z'])
  assert.match(resolved.description, /resolved, 53\.25/)
  const failing = { reason: 'evaluation_failing', detail: 'the projection is behind' } as const
  const told = render('ntfy', messageWith([alertOf({}, failing)], failing))
  assert.match(told.title, /^\[NOT EVALUATED\] slow/)
  assert.match(told.message, /the projection is behind/)
  assert.deepEqual([told.priority, told.tags], [5, ['rotating_light']])
  assert.ok(Buffer.byteLength(render('ntfy', messageWith(many)).message) <= 4_000)
})

test('placeholders are text, or the value as it is, and empty members are left out', () => {
  const message = messageWith([alertOf({ service: 'web' }, { value: null, generatorURL: '' })], {
    externalURL: '',
  })
  const template = {
    a: 'of {{labels.service}}, {{ labels.nobody }}{{annotations.summary}}',
    n: '{{json:threshold}}',
    s: '{{threshold}}',
    none: '{{json:value}}',
    link: '{{link}}',
    list: ['{{link}}', '{{rule}}', 7, null, true],
    all: '{{json:labels}}',
    proto: '{{labels.constructor}}{{labels.__proto__}}',
    ['__proto__']: '{{rule}}',
  }
  assert.deepEqual(render('template', message, template), {
    a: 'of web, Answers take long',
    n: 20,
    s: '20',
    list: [null, 'slow', 7, null, true],
    all: { ...message.commonLabels },
    proto: '',
    ['__proto__']: 'slow',
  })
})

test('a body is bounded, whatever its template names', () => {
  const long = messageWith([alertOf({ service: 'x'.repeat(9_000) })])
  const { length } = { length: ALERT_TEMPLATE_PLACEHOLDERS_MAX }
  const template = { all: Array.from({ length }, () => '{{labels.service}}') }
  checkTemplate(template)
  const { all } = render('template', long, template)
  assert.equal(all[0].length, 4_000)
  assert.equal(all.join('').length, ALERT_BODY_CHARS_MAX)
  const samples = [{ id: '1', event: { text: 'x'.repeat(ALERT_BODY_CHARS_MAX) } }]
  const large = messageWith([alertOf({}, { samples })])
  assert.deepEqual(render('template', large, { a: '{{json:alerts}}', b: '{{rule}}' }), {
    b: 'slow',
  })
  assert.equal(renderTemplate('x', {}, String), 'x')
})

test('a template that could not be rendered is refused, and why', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 'x' : { a: nested(depth - 1) })
  const cases: [template: unknown, problem: RegExp][] = [
    [{ a: '{{lables.service}}' }, /\{\{lables\.service\}\}: there are title, .*labels\.NAME/],
    [{ a: '{{labels}}' }, /\{\{labels\}\}: a NAME/],
    [{ a: '{{title.x}}' }, /title has no parts/],
    [{ a: 'x {{json:value}}' }, /must stand alone/],
    [{ a: '{{ title' }, /braces that are no placeholder/],
    [{ a: '{{#if title}}x{{/if}}' }, /braces that are no placeholder/],
    [{ a: nested(16) }, /nested deeper than 16/],
    [{ a: 'x'.repeat(ALERT_TEMPLATE_BYTES_MAX) }, /over ALERT_TEMPLATE_BYTES_MAX/],
    [
      { a: '{{rule}}'.repeat(ALERT_TEMPLATE_PLACEHOLDERS_MAX + 1) },
      /101 placeholders, over ALERT_TEMPLATE_PLACEHOLDERS_MAX/,
    ],
  ]
  for (const [template, problem] of cases) {
    assert.throws(
      () => checkTemplate(template),
      (cause) => cause instanceof IngestError && problem.test(cause.message),
      String(problem),
    )
  }
})

test('what another service said is short and without secrets', () => {
  const secret = 'a secret/of mine'
  const said = saidText(`no\r\n${secret} ${encodeURIComponent(secret)}\u001b[31m`, [secret, 'x'])
  assert.equal(said, 'no *** ***[31m')
  assert.equal(saidText('y'.repeat(5_000), []).length, 200)
})
