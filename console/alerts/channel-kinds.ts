/** Kinds of channels: what is asked for to make one. A new kind is one entry more. */

export interface ChannelField {
  /** The member of the request. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
  readonly type?: 'text' | 'password' | 'number' | 'check'
  readonly isRequired?: boolean
  /** Offered to admins alone. */
  readonly isForAdmins?: boolean
}

export interface ChannelKind {
  /** As the API names it; webhooks are those without a name. */
  readonly kind: string
  readonly label: string
  readonly fields: readonly ChannelField[]
}

const ALLOW_PRIVATE: ChannelField = {
  name: 'allow_private',
  label: 'Also addresses that are not of the internet',
  type: 'check',
  isForAdmins: true,
}

export const CHANNEL_KINDS: readonly ChannelKind[] = [
  {
    kind: 'webhook',
    label: 'Webhook',
    fields: [
      {
        name: 'url',
        label: 'URL',
        placeholder: 'https://hooks.example.com/sluice',
        hint: 'Messages are posted to it as JSON. It is never shown again.',
        isRequired: true,
      },
      {
        name: 'secret',
        label: 'Secret',
        type: 'password',
        hint: 'Signs messages: 16 characters or more. Empty: they are not signed.',
      },
      ALLOW_PRIVATE,
    ],
  },
]

/** What is typed of a channel: texts, and for what is checked `1`. */
export type Typed = Readonly<Record<string, string>>

/** The request that makes it. What is left empty is not sent. */
export function channelBody({ kind, fields }: ChannelKind, typed: Typed): object {
  const members = fields.flatMap(({ name, type }): [string, unknown][] => {
    const text = typed[name] ?? ''
    if (text === '') return []
    return [[name, type === 'check' ? true : type === 'number' ? Number(text) : text.trim()]]
  })
  return { ...(kind !== 'webhook' && { kind }), ...Object.fromEntries(members) }
}
