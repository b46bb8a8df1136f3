/** The screens beside Explore, and what of it is rarely shown: one file, loaded when one is. */
import { AlertsScreen } from '../alerts/alerts-screen.tsx'
import type { Route } from '../base/route.ts'
import { RedactionScreen } from '../redaction/redaction-screen.tsx'
import { SchemaScreen } from '../schema/schema-screen.tsx'
import { StreamsScreen } from '../streams/streams-screen.tsx'
import { TokensScreen } from '../tokens/tokens-screen.tsx'
import { UsageScreen } from '../usage/usage-screen.tsx'
import { ViewsScreen } from '../views/views-screen.tsx'

export { FirstStart } from '../first-start/first-start.tsx'
export { IncidentPanel } from '../incident/incident-panel.tsx'
export { Help } from './help.tsx'

export function OtherScreen({ screen, streamId }: Pick<Route, 'screen' | 'streamId'>) {
  switch (screen) {
    case 'views':
      return <ViewsScreen streamId={streamId} />
    case 'schema':
      return <SchemaScreen streamId={streamId} />
    case 'redaction':
      return <RedactionScreen key={streamId} streamId={streamId} />
    case 'usage':
      return <UsageScreen streamId={streamId} />
    case 'streams':
      return <StreamsScreen streamId={streamId} />
    case 'alerts':
      return <AlertsScreen streamId={streamId} />
    case 'tokens':
      return <TokensScreen />
    default:
      return null
  }
}
