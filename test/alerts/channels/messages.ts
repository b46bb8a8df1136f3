/** Messages and channels for tests of kinds. */
import type { AlertMessage, MessageAlert } from '../../../src/alerts/webhook-body.ts'
import type { ChannelTarget } from '../../../src/store/alerts/channel-store.ts'

export const NOW_MS = Date.parse('2026-05-05T05:05:00Z')

export function alertOf(
  group: Readonly<Record<string, string>>,
  changes: Partial<MessageAlert> = {},
): MessageAlert {
  return {
    ...{ status: 'firing', reason: 'new', detail: null, fingerprint: Object.values(group).join() },
    labels: { ...group, alertname: 'slow', severity: 'critical', team: 'web' },
    annotations: { summary: 'Answers take long' },
    ...{ startsAt: '2026-05-05T05:05:00.000Z', endsAt: '0001-01-01T00:00:00Z' },
    ...{ generatorURL: 'https://sluice.test/#/explore?q=a', query: 'a' },
    ...{ value: 53.25, threshold: 20, condition: '>', event_count: 7, samples_problem: null },
    window: {
      ...{ from: '2026-05-05T05:04:00.000Z', to: '2026-05-05T05:05:00.000Z' },
      time: 'ingested_at',
    },
    samples: [{ id: '1', event: { level: 'error', message: 'it took 53 s' } }],
    ...changes,
  }
}

export function messageWith(
  alerts: readonly MessageAlert[],
  changes: Partial<AlertMessage> = {},
): AlertMessage {
  const [first, ...others] = alerts
  const common = (of: 'labels' | 'annotations') =>
    Object.fromEntries(
      Object.entries(first![of]).filter(([name, value]) =>
        others.every((alert) => alert[of][name] === value),
      ),
    )
  return {
    ...{ version: '4', groupKey: '{}:{rule="3"}', receiver: 'ops', truncatedAlerts: 0 },
    ...{ status: first!.status, reason: first!.reason, detail: first!.detail },
    ...{ groupLabels: common('labels'), externalURL: 'https://sluice.test/', alerts },
    ...{ commonLabels: common('labels'), commonAnnotations: common('annotations') },
    sluice: {
      ...{ event_id: 'sluice-alert-9-1', rule_id: '3', rule_version: 2, attempt: 1, as_of: null },
      evaluated_at: '2026-05-05T05:05:02.000Z',
    },
    ...changes,
  }
}

export function targetOf(changes: Partial<ChannelTarget> & Pick<ChannelTarget, 'kind'>) {
  return {
    ...{ url: 'https://hooks.test/t/a-secret-path', secret: undefined, allowsPrivate: true },
    ...{ options: {}, ...changes },
  }
}

/** What an event or a label may hold. */
export const HOSTILE = [
  'a\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script>',
  '"},"text":"x","channel":"#general',
  '{{rule}} {{json:alerts}} {{',
  '<!channel> <@U1> <https://evil.test|click> & <b>',
  '@channel @all @here @everyone <users/all>',
  '`` ``` *_~|[x](https://evil.test) \\',
  '\u202etxt.exe \u0000\u0007\u001b[31m \ud800 \u2028',
  'x'.repeat(10_000),
  '😀'.repeat(3_000),
]
