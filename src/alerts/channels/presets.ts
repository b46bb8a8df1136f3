/** The bodies that chat services take, as templates: what a channel sends unless it has its own. */
import type { ChannelKind } from '../../store/alerts/channel-store.ts'

/** Of Slack's attachments, which Mattermost takes too. */
const ATTACHMENT = {
  color: '{{color}}',
  fallback: '{{title}}',
  title: '{{title}}',
  title_link: '{{link}}',
  text: '{{text}}',
}

const TEAMS_CARD = {
  $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
  type: 'AdaptiveCard',
  version: '1.4',
  body: [
    { type: 'TextBlock', text: '{{title}}', weight: 'Bolder', size: 'Medium', wrap: true },
    { type: 'TextBlock', text: '{{text}}', wrap: true },
  ],
  msteams: { width: 'Full' },
}

export const PRESETS: Partial<Readonly<Record<ChannelKind, object>>> = {
  slack: { attachments: [{ ...ATTACHMENT, mrkdwn_in: ['text'], ts: '{{json:time_s}}' }] },
  mattermost: { attachments: [ATTACHMENT] },
  discord: {
    // Nobody is mentioned, whatever the text.
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: '{{title}}',
        url: '{{link}}',
        description: '{{text}}',
        color: '{{json:color_number}}',
        timestamp: '{{time}}',
      },
    ],
  },
  teams: {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: TEAMS_CARD,
      },
    ],
  },
  google_chat: { text: '*{{title}}*\n{{text}}' },
  ntfy: {
    title: '{{title}}',
    message: '{{text}}',
    priority: '{{json:priority}}',
    tags: ['{{emoji}}'],
    click: '{{link}}',
  },
}
