/** Goal: a path that would redact nothing is told from one that does, and what to write instead. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPathFault, normalizePath } from '../../../src/model/redact/redact-path.ts'

test('spellings of one path are the same path', () => {
  for (const [one, other] of [
    ['a.b', 'a[].b'],
    ['a.b', 'a[][].b[]'],
    ['user.api-key', 'User.API_KEY'],
    ['tags[]', 'tags'],
  ] as const) {
    assert.equal(normalizePath(one), normalizePath(other))
  }
  assert.notEqual(normalizePath('a.b'), normalizePath('ab'))
  assert.notEqual(normalizePath('[]'), normalizePath('x'))
})

test('what has a meaning is no fault, brackets that belong to a key among it', () => {
  for (const path of ['a', 'a.b', 'a[].b', 'tags[]', 'm[][]', 'user[name]', '$set', 'a[', ' a']) {
    assert.equal(findPathFault(path), undefined, path)
  }
})

test('what has none is a fault that says what to write', () => {
  for (const [path, fault] of [
    ['*', /no wildcards/],
    ['c.*', /no wildcards; a path redacts all that is below/],
    ['c[*].d', /no wildcards/],
    ['d[0]', /"\[\]" for any element of an array, no index/],
    ['d[-1].e', /no index/],
    [`a["b"]`, /dots between keys/],
    [`a['b']`, /dots between keys/],
    ['$.a', /must begin with a key/],
    ['$', /must begin with a key/],
    ['[]', /right behind a key/],
    ['[].a', /right behind a key/],
    ['a.[].b', /right behind a key/],
    ['a[]b', /right behind a key/],
    ['a..b', /empty segments/],
    ['', /empty segments/],
    ['a\0', /U\+0000/],
  ] as const) {
    assert.match(findPathFault(path) ?? '', fault, path)
  }
})
