import { may, ownToken } from '../base/rights.ts'
import { href, OF_ALL, route, type Screen } from '../base/route.ts'
import { signOut } from '../base/sign-in.ts'
import { findStream, streams } from '../base/stream.ts'
import { nextTheme, type Theme, theme, themeAfter } from '../base/theme.ts'
import { StreamPicker } from './stream-picker.tsx'

const LINKS: readonly (readonly [screen: Screen, label: string])[] = [
  ['explore', 'Explore'],
  ['alerts', 'Alerts'],
  ['views', 'Views'],
  ['streams', 'Streams'],
  ['schema', 'Schema'],
  ['redaction', 'Redaction'],
  ['usage', 'Usage'],
]

/** Of admins. */
const TOKENS = ['tokens', 'Tokens'] as const

const THEME_SIGNS: Readonly<Record<Theme, string>> = { system: '◐', light: '☀', dark: '☾' }

export function Header({ onHelp }: { onHelp: () => void }) {
  const { screen, streamId } = route.value
  const stream = findStream(streamId)
  // Not before it is known: a link that goes away again would be clicked on.
  const links = ownToken.value !== undefined && may('admin') ? [...LINKS, TOKENS] : LINKS
  return (
    <header class="header">
      <a class="brand" href={href('explore')}>
        Sluice
      </a>
      <StreamPicker streams={streams.value} selected={stream} />
      <nav aria-label="Screens">
        {links.map(([name, label]) => (
          <a
            key={name}
            href={href(name, OF_ALL.includes(name) ? undefined : streamId)}
            aria-current={name === screen ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <div class="header-buttons">
        <button type="button" class="plain" onClick={onHelp} title="Keys and queries (?)">
          Help
        </button>
        <button
          type="button"
          class="plain"
          onClick={nextTheme}
          title={`Theme: ${theme.value}; changes to ${themeAfter(theme.value)}`}
          aria-label={`Theme: ${theme.value}`}
        >
          {THEME_SIGNS[theme.value]}
        </button>
        <button
          type="button"
          class="plain"
          title="Of this browser; everywhere: Ctrl K"
          onClick={() => void signOut()}
        >
          Sign out
        </button>
      </div>
    </header>
  )
}
