/** Goal: the document describes each route as OpenAPI 3.1 wants it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApi } from '../../src/api/openapi.ts'

const ROUTE = {
  method: 'POST',
  pattern: '/v1/streams/:id/things/:key',
  description: {
    operationId: 'makeThing',
    summary: 'Make a thing',
    tag: 'Things',
    credential: 'token' as const,
    scope: 'streams:write',
    query: {
      properties: { limit: { type: 'integer' as const, description: 'How many', must: 'few' } },
      required: ['limit'],
    },
    body: { required: true, content: { 'application/json': { must: 'good' } } },
    answers: { 201: { description: 'Made', content: { 'application/json': {} } } },
  },
}

test('an operation has its parameters, body, answers and errors', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into the whole document.
  const document = openApi([ROUTE, { ...ROUTE, method: 'GET' }], '1.2.3') as any
  assert.equal(document.openapi, '3.1.0')
  assert.equal(document.info.version, '1.2.3')
  const path = document.paths['/v1/streams/{id}/things/{key}']
  assert.deepEqual(Object.keys(path), ['post', 'get'])
  const { post } = path
  assert.deepEqual(
    post.parameters.map((one: { in: string; name: string; required: boolean }) => {
      return [one.in, one.name, one.required]
    }),
    [
      ['path', 'id', true],
      ['path', 'key', true],
      ['query', 'limit', true],
    ],
  )
  assert.deepEqual(post.security, [{ token: ['streams:write'] }])
  assert.deepEqual(Object.keys(post.responses), ['201', 'default'])
  assert.equal(JSON.stringify(document).includes('must'), false, 'what is only ours stays out')
})
