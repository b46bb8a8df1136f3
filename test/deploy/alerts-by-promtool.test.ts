/**
 * Goal: alerts fire for what they are for, after the time they are to wait, and for nothing else.
 * Method: series and the alerts that they must cause are in rules.test.yaml, which Prometheus' own
 * promtool runs, from PROMTOOL or the path; without it this is skipped.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const PROMTOOL = process.env.PROMTOOL || 'promtool'
const FOLDER = fileURLToPath(new URL('../../../deploy/prometheus/', import.meta.url))
const run = (...args: readonly string[]) =>
  spawnSync(PROMTOOL, args, { cwd: FOLDER, encoding: 'utf8' })
const skip =
  run('--version').error !== undefined && `there is no ${PROMTOOL} here; PROMTOOL=path names one`

for (const args of [
  ['check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml'],
  ['test', 'rules', 'rules.test.yaml'],
]) {
  test(`promtool ${args.slice(0, 2).join(' ')}`, { skip }, () => {
    const { status, stdout, stderr } = run(...args)
    assert.equal(status, 0, stdout + stderr)
  })
}
