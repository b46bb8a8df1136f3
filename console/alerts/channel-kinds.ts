/** Kinds of channels: what is asked for to make one. A new kind is one entry more. */

export interface ChannelField {
  /** The member of the request. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
  /** `list`: texts with commas between them; `json`: an object; left out: a line of text. */
  readonly type?: 'password' | 'number' | 'check' | 'list' | 'json'
  readonly options?: readonly (readonly [value: string, label: string])[]
  readonly isRequired?: boolean
  /** Offered to admins alone. */
  readonly isForAdmins?: boolean
}

export interface ChannelKind {
  /** As the API names it. */
  readonly kind: string
  readonly label: string
  readonly fields: readonly ChannelField[]
}

const urlOf = (placeholder: string, hint = 'It is never shown again.'): ChannelField => ({
  ...{ name: 'url', label: 'URL', placeholder, hint, isRequired: true },
})
const secretOf = (name: string, label: string, hint: string): ChannelField => ({
  ...{ name, label, hint, type: 'password' },
})
const TOKEN = secretOf('token', 'Token', 'Presented as Bearer; empty: none.')
const USER: ChannelField = { name: 'username', label: 'User' }
const PASSWORD = secretOf('password', 'Password', 'With a user; empty: none.')
const TEMPLATE: ChannelField = {
  name: 'template',
  label: 'Template',
  type: 'json',
  hint: 'The body as JSON, with placeholders such as {{title}}; empty: what the kind sends.',
}
const OWN_TEMPLATE = 'The body as JSON, with placeholders such as {{title}} and {{text}}.'
const ALLOW_PRIVATE: ChannelField = {
  name: 'allow_private',
  label: 'Also addresses that are not of the internet',
  type: 'check',
  isForAdmins: true,
}

const chat = (kind: string, label: string, placeholder: string): ChannelKind => ({
  ...{ kind, label, fields: [urlOf(placeholder), TEMPLATE, ALLOW_PRIVATE] },
})

export const CHANNEL_KINDS: readonly ChannelKind[] = [
  {
    kind: 'webhook',
    label: 'Webhook',
    fields: [
      urlOf('https://hooks.example.com/sluice', 'Gets JSON by POST. It is never shown again.'),
      secretOf('secret', 'Secret', 'Signs messages: 16 characters or more. Empty: none is signed.'),
      ALLOW_PRIVATE,
    ],
  },
  chat('slack', 'Slack', 'https://hooks.slack.com/services/…'),
  chat('teams', 'Microsoft Teams', 'https://….logic.azure.com/…'),
  chat('discord', 'Discord', 'https://discord.com/api/webhooks/…'),
  chat('mattermost', 'Mattermost', 'https://mattermost.example.com/hooks/…'),
  chat('google_chat', 'Google Chat', 'https://chat.googleapis.com/v1/spaces/…'),
  {
    kind: 'email',
    label: 'E-mail',
    fields: [
      { name: 'to', label: 'To', type: 'list', placeholder: 'ops@example.com', isRequired: true },
      { name: 'from', label: 'From', placeholder: 'sluice@example.com', isRequired: true },
      {
        ...{ name: 'host', label: 'Mail server', placeholder: 'smtp.example.com' },
        isRequired: true,
      },
      { name: 'port', label: 'Port', type: 'number', hint: 'Empty: 587, 465 or 25.' },
      {
        ...{ name: 'tls', label: 'Encryption', hint: 'Without it no password is sent.' },
        options: [
          ['', 'STARTTLS'],
          ['implicit', 'TLS from the start'],
          ['none', 'none'],
        ],
      },
      ...[USER, PASSWORD, ALLOW_PRIVATE],
    ],
  },
  {
    kind: 'pagerduty',
    label: 'PagerDuty',
    fields: [
      { ...secretOf('routing_key', 'Routing key', 'Of an integration.'), isRequired: true },
      ALLOW_PRIVATE,
    ],
  },
  {
    kind: 'alertmanager',
    label: 'Alertmanager',
    fields: [urlOf('https://alertmanager.example.com'), ...[USER, PASSWORD, TOKEN, ALLOW_PRIVATE]],
  },
  {
    kind: 'ntfy',
    label: 'ntfy',
    fields: [urlOf('https://ntfy.sh/topic'), TOKEN, TEMPLATE, ALLOW_PRIVATE],
  },
  {
    kind: 'template',
    label: 'Any, by a template',
    fields: [
      urlOf('https://example.com/hook'),
      { ...TEMPLATE, hint: OWN_TEMPLATE, isRequired: true },
      ...[TOKEN, ALLOW_PRIVATE],
    ],
  },
  {
    kind: 'heartbeat',
    label: 'Heartbeat',
    fields: [
      urlOf('https://hc-ping.com/…', 'Called each minute while rules are evaluated in time.'),
      ALLOW_PRIVATE,
    ],
  },
]

/** What is typed of a channel: texts, and for what is checked `1`. */
export type Typed = Readonly<Record<string, string>>

/** The request that makes it. What is left empty is not sent. Throws for what is no JSON. */
export function channelBody({ kind, fields }: ChannelKind, typed: Typed): object {
  const members = fields.flatMap((field): [string, unknown][] => {
    const text = (typed[field.name] ?? '').trim()
    return text === '' ? [] : [[field.name, memberOf(field, text)]]
  })
  // Webhooks are what channels are by default.
  return { ...(kind !== 'webhook' && { kind }), ...Object.fromEntries(members) }
}

function memberOf({ type, label }: ChannelField, text: string): unknown {
  switch (type) {
    case 'check':
      return true
    case 'number':
      return Number(text)
    case 'list':
      return text.split(/[,\s]+/).filter(Boolean)
    case 'json':
      return parseJson(label, text)
    default:
      return text
  }
}

function parseJson(label: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${label}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
