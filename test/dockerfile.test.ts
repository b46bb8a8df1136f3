/**
 * Goal: the image, which is not built here, and the systemd unit of docs/operations.md start what
 * `npm start` starts, with its settings.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const dockerfile = read('Dockerfile')
const [unit = ''] = /^\[Service\]\n[^`]+/m.exec(read('docs/operations.md')) ?? []
const { scripts, engines } = JSON.parse(read('package.json')) as {
  readonly scripts: { readonly start: string }
  readonly engines: { readonly node: string }
}

test('the memory settings of `npm start` are those of the image and of the unit', () => {
  const settings = [...scripts.start.matchAll(/(MALLOC_\w+)=\$\{\w+:-(\d+)\}/g)]
  assert.equal(settings.length, 2)
  for (const [, name, value] of settings) {
    assert.match(dockerfile, new RegExp(`${name}=${value}\\b`))
    assert.match(unit, new RegExp(`^Environment=.*\\b${name}=${value}\\b`, 'm'))
  }
  const [, program] = / (node \S+)$/.exec(scripts.start) ?? []
  assert.match(unit, new RegExp(`^ExecStart=\\S*${program?.trim()}$`, 'm'))
  assert.ok(dockerfile.endsWith(`CMD ["${program?.replace(' ', '", "')}"]\n`), program)
})

test('its Node.js is one that the service takes, and it runs as nobody special', () => {
  const major = Number(/^FROM node:(\d+)-trixie-slim$/m.exec(dockerfile)?.[1])
  assert.ok(major >= Number.parseInt(engines.node.replace('>=', ''), 10))
  assert.match(dockerfile, /^USER 1000:1000$/m)
})
