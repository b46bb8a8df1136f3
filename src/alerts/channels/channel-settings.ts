/** What a person sets of a channel: members that belong to its kind, and no others. */
import type { ObjectSchema, Schema } from '../../api/schema.ts'
import { malformed } from '../../errors.ts'
import { ALERT_RECIPIENTS_MAX } from '../../limits.ts'
import type {
  ChannelKind,
  ChannelOptions,
  ChannelSettings,
} from '../../store/alerts/channel-store.ts'
import { NO_TOPIC, trySplitTopic } from './ntfy-topic.ts'
import { PAGERDUTY_URL } from './pagerduty.ts'
import { checkTemplate } from './template.ts'

const URL_CHARS_MAX = 2_048
const SECRET_CHARS_MAX = 4_096
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])$/
/** Of the forms that may be quoted only the plain one. */
const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,188})$/
const TOKEN = /^[\x21-\x7e]+$/
const TLS_PORTS = { starttls: 587, implicit: 465, none: 25 } as const

const address: Schema = {
  type: 'string',
  maxLength: 254,
  pattern: ADDRESS.source,
  must: 'an address such as ops@example.com',
}

const PROPERTIES = {
  url: {
    type: 'string',
    maxLength: URL_CHARS_MAX,
    description: 'Where messages are sent, `http` or `https`. Never shown again',
  },
  secret: {
    type: 'string',
    minLength: 16,
    maxLength: 256,
    description: 'Signs messages. Left out: they are not signed. Never shown again',
  },
  template: {
    type: 'object',
    properties: {},
    additionalProperties: {},
    description: 'The body, with placeholders in its texts, in place of what the kind sends',
  },
  username: { type: 'string', minLength: 1, maxLength: 256, description: 'With `password`' },
  password: {
    type: 'string',
    minLength: 1,
    maxLength: SECRET_CHARS_MAX,
    description: 'Never shown again',
  },
  token: {
    type: 'string',
    maxLength: SECRET_CHARS_MAX,
    pattern: TOKEN.source,
    description: 'Presented as `Bearer`. Never shown again',
  },
  routing_key: {
    type: 'string',
    maxLength: 256,
    pattern: TOKEN.source,
    description: "Of PagerDuty's integration. Never shown again",
  },
  host: { type: 'string', maxLength: 253, description: 'The mail server' },
  port: {
    type: 'integer',
    minimum: 1,
    maximum: 65_535,
    description: '587, 465 or 25 by `tls` when left out',
  },
  tls: {
    type: 'string',
    enum: ['starttls', 'implicit', 'none'],
    default: 'starttls',
    description: 'Without it no password is sent',
  },
  from: { ...address, description: 'Who mail is from' },
  to: {
    type: 'array',
    items: address,
    minItems: 1,
    maxItems: ALERT_RECIPIENTS_MAX,
    description: 'Who gets it',
  },
} as const satisfies Readonly<Record<string, Schema>>

type Member = keyof typeof PROPERTIES

const CHAT = { required: ['url'], optional: ['template'] } as const

/** What belongs to each kind. */
const KINDS: Readonly<
  Record<
    ChannelKind,
    { readonly required: readonly Member[]; readonly optional: readonly Member[] }
  >
> = {
  webhook: { required: ['url'], optional: ['secret'] },
  alertmanager: { required: ['url'], optional: ['username', 'password', 'token'] },
  slack: CHAT,
  mattermost: CHAT,
  discord: CHAT,
  teams: CHAT,
  google_chat: CHAT,
  ntfy: { required: ['url'], optional: ['token', 'template'] },
  template: { required: ['url', 'template'], optional: ['token'] },
  pagerduty: { required: ['routing_key'], optional: ['url'] },
  email: {
    required: ['host', 'from', 'to'],
    optional: ['port', 'tls', 'username', 'password'],
  },
  heartbeat: { required: ['url'], optional: [] },
}

export const KIND_NAMES = Object.keys(KINDS) as readonly ChannelKind[]

export const CHANNEL_BODY: ObjectSchema = {
  type: 'object',
  properties: {
    kind: {
      type: 'string',
      enum: KIND_NAMES,
      default: 'webhook',
      description: 'What is sent, and how; the other members belong to some kinds',
    },
    ...PROPERTIES,
    allow_private: {
      type: 'boolean',
      default: false,
      description: 'Also addresses that are not of the internet; for admins',
    },
  },
}

interface ChannelMembers {
  readonly kind?: ChannelKind
  readonly url?: string
  readonly secret?: string
  readonly template?: unknown
  readonly username?: string
  readonly password?: string
  readonly token?: string
  readonly routing_key?: string
  readonly host?: string
  readonly port?: number
  readonly tls?: 'starttls' | 'implicit' | 'none'
  readonly from?: string
  readonly to?: readonly string[]
  readonly allow_private?: boolean
}

/** `body` matches `CHANNEL_BODY`. Throws `malformed`. */
export function readChannelSettings(body: unknown): ChannelSettings {
  const members = body as ChannelMembers
  const { kind = 'webhook', template, username, password, tls, from, to } = members
  assertBelongs(kind, members)
  if (template !== undefined) checkTemplate(template)
  if ((username === undefined) !== (password === undefined)) {
    throw malformed('"username" and "password" belong together')
  }
  if (password !== undefined && members.token !== undefined) {
    throw malformed('"password" and "token" are two ways of one thing: leave one out')
  }
  if (password !== undefined && tls === 'none') {
    throw malformed('"password" is not sent without "tls"')
  }
  const secret = members.secret ?? password ?? members.token ?? members.routing_key
  const options: ChannelOptions = {
    ...(username !== undefined && { username }),
    ...(kind === 'email' && { tls: tls ?? 'starttls' }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(template !== undefined && { template }),
  }
  return {
    ...{ kind, url: urlOf(kind, members), options },
    allowsPrivate: members.allow_private === true,
    ...(secret !== undefined && { secret }),
  }
}

function assertBelongs(kind: ChannelKind, members: ChannelMembers): void {
  const { required, optional } = KINDS[kind]
  const known: readonly string[] = [...required, ...optional]
  const given = Object.keys(members).filter((name) => name !== 'kind' && name !== 'allow_private')
  const other = given.find((name) => !known.includes(name))
  if (other !== undefined) {
    throw malformed(`"${other}" does not belong to the kind ${kind}, which has ${known.join(', ')}`)
  }
  const missing = required.find((name) => members[name] === undefined)
  if (missing !== undefined) throw malformed(`"${missing}" is required for the kind ${kind}`)
}

function urlOf(kind: ChannelKind, members: ChannelMembers): string {
  const { tls = 'starttls', host = '', port = TLS_PORTS[tls], url = PAGERDUTY_URL } = members
  if (kind === 'email') {
    const server = `smtp://${host}:${port}`
    if (HOST.test(host) && URL.canParse(server)) return server
    throw malformed('"host" must be the name or address of a mail server')
  }
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isHttp) throw malformed('"url" must be a URL of http or https')
  if (new URL(url).username !== '' || new URL(url).password !== '') {
    throw malformed('"url" must not hold a user or a password')
  }
  if (kind === 'ntfy' && trySplitTopic(url) === undefined) throw malformed(NO_TOPIC)
  return url
}
