/**
 * Goal: the tables of members in docs/api.md are what the routes say of themselves.
 * Method: each table stands between `<!-- api: operation member … -->` and `<!-- /api -->`;
 * without members it has all. It is made anew from the routes and compared;
 * `UPDATE_DOCS=1 npm test -- api-tables` writes it.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { RouteDescription } from '../../src/api/route-description.ts'
import type { ObjectSchema, Schema } from '../../src/api/schema.ts'
import type { Route } from '../../src/http/exchange.ts'
import { serveRoutes } from '../../src/serve/routes.ts'

/** What the routes are made of is asked for when they run; what they say, before. */
const routes: readonly Route[] = serveRoutes({ lanes: {} } as never)
const described = new Map(
  routes.flatMap(({ description }) => {
    return description === undefined ? [] : [[description.operationId, description] as const]
  }),
)

// Tests run from `dist/`.
const url = new URL('../../../docs/api.md', import.meta.url)
const TABLE = /<!-- api: ([^\n]*?) -->\n[\s\S]*?<!-- \/api -->/g

function membersOf({
  body,
  query,
}: RouteDescription): Pick<ObjectSchema, 'properties' | 'required'> {
  const [schema] = Object.values(body?.content ?? {})
  if (schema?.type === 'object') return schema
  assert(query !== undefined, 'it takes parameters')
  return query
}

function words(schema: Schema): string {
  if (schema.anyOf !== undefined) {
    return typeof schema.must === 'string' ? schema.must : schema.anyOf.map(words).join(', or ')
  }
  switch (schema.type) {
    case 'string':
      if (schema.enum !== undefined) return schema.enum.map((one) => `\`"${one}"\``).join(' or ')
      return 'string'
    case 'integer':
    case 'number': {
      const { type, minimum, maximum } = schema
      if (minimum === undefined || maximum === undefined) return type
      return `${type}, ${minimum.toLocaleString('en')} to ${maximum.toLocaleString('en')}`
    }
    case 'array': {
      const { items, maxItems } = schema
      const most = maxItems === undefined ? '' : `up to ${maxItems.toLocaleString('en')} `
      return `list of ${most}${items.type === 'string' ? 'strings' : words(items)}`
    }
    case 'object': {
      const names = Object.keys(schema.properties).map((name) => `"${name}"`)
      return names.length === 0 ? 'object' : `\`{${names.join(', ')}}\``
    }
    default:
      return schema.type ?? 'any value'
  }
}

function tableOf(operation: string, wanted: readonly string[]): string {
  const description = described.get(operation)
  assert(description !== undefined, `there is no operation ${operation}`)
  const { properties, required = [] } = membersOf(description)
  const names = wanted.length === 0 ? Object.keys(properties) : wanted
  const rows = names.map((name) => {
    const schema = properties[name]
    assert(schema !== undefined, `${operation} has no "${name}"`)
    const given = schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``
    const otherwise = required.includes(name) ? 'required' : given
    assert(schema.description !== undefined, `"${name}" of ${operation} has no description`)
    return `| \`${name}\` | ${words(schema)} | ${otherwise} | ${schema.description} |`
  })
  return ['| Member | Type | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

test('each table of docs/api.md is what its route says', () => {
  const text = readFileSync(url, 'utf8')
  const made = text.replace(TABLE, (_, marker: string) => {
    const [operation = '', ...names] = marker.split(' ')
    return `<!-- api: ${marker} -->\n${tableOf(operation, names)}\n<!-- /api -->`
  })
  if (process.env.UPDATE_DOCS === '1') writeFileSync(url, made)
  assert.equal(readFileSync(url, 'utf8'), made, 'run UPDATE_DOCS=1 npm test -- api-tables')
})

/** Of several streams and of URLs they are the same. */
const OTHER_FORMS = /(?:Streams|ByUrl)$/
/** Of these the documents say more than a table of ours could. */
const MANAGEMENT = ['Streams', 'API keys', 'Access tokens']
const BY_HAND = [
  'listViews',
  'createView',
  'updateView',
  'deleteView',
  'queryView',
  'searchView',
  'tailEvents',
]

test('each member of each route that reads is in a table', () => {
  const text = readFileSync(url, 'utf8')
  const told = new Map<string, Set<string>>()
  for (const [, marker = ''] of text.matchAll(TABLE)) {
    const [operation = '', ...names] = marker.split(' ')
    const all =
      names.length > 0 ? names : Object.keys(membersOf(described.get(operation)!).properties)
    told.set(operation, new Set([...(told.get(operation) ?? []), ...all]))
  }
  // The section Reading has what all of them share, and so has that of alerts.
  const shared = new Set([...told.get('queryStreams')!, ...told.get('getAlertRule')!])
  for (const [operation, description] of described) {
    if (OTHER_FORMS.test(operation) || BY_HAND.includes(operation)) continue
    if (MANAGEMENT.includes(description.tag)) continue
    if (description.body === undefined && description.query === undefined) continue
    const missing = Object.keys(membersOf(description).properties).filter((name) => {
      return !told.get(operation)?.has(name) && !shared.has(name)
    })
    assert.deepEqual(missing, [], operation)
  }
})
