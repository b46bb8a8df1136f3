/**
 * Goal: the list and an open event name the service of an event as the service itself does.
 * Method: payloads whose label is known (`label-columns.test.ts`), and what only a reader without
 * case finds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeJson } from '../../console/base/exact-json.ts'
import { readEvents, serviceOf } from '../../console/events/event.ts'
import { serviceIn } from '../../console/events/service-in.ts'

const KNOWN: readonly (readonly [payload: string, service: string])[] = [
  ['{"service":"cart"}', 'cart'],
  ['{"SERVICE":"cart"}', 'cart'],
  ['{"sErViCe":"odd"}', 'odd'],
  ['{"Program":"sshd"}', 'sshd'],
  ['{"appname":"rsyslogd"}', 'rsyslogd'],
  ['{"service":{"NAME":"a"},"service_name":"b"}', 'a'],
  ['{"app":"b","Service.Name":"a"}', 'a'],
  ['{"service":"b","Service":"c"}', 'b'],
  ['{"sERVICE":"c","Service":"b"}', 'b'],
  ['{"resource":{"attributes":{"service.name":"checkout"}}}', 'checkout'],
  ['{"Kubernetes":{"Labels":{"App.kubernetes.io/name":"k"}}}', 'k'],
  ['{"service":"a","service":null}', ''],
  ['{"service":"a","service":5}', ''],
  ['{"service":{"name":"a"},"service":{}}', ''],
  ['{"service":5,"app":["a"],"program":""}', ''],
  [`{"service":"${'日'.repeat(86)}","app":"short"}`, 'short'],
  ['{"__proto__":"x","constructor":{"name":"y"}}', ''],
  ['[1]', ''],
]

for (const [payload, service] of KNOWN) {
  test(`${payload.slice(0, 60)}: ${service}`, () => {
    assert.equal(serviceIn(wholeJson(payload)), service)
  })
}

test('what an OTLP record says beside the payload comes first', () => {
  const text = '{"events":[{"service":"otel","payload":{"App":"a"}},{"payload":{"App":"a"}}]}'
  assert.deepEqual(readEvents(text).events.map(serviceOf), ['otel', 'a'])
})
