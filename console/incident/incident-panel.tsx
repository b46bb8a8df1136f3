import type { CountedAsk } from '../explore/counted.ts'
import { ExplainPanel } from './explain-panel.tsx'

export type PanelName = 'explain'

export interface PanelProps {
  readonly counted: CountedAsk
  readonly onClose: () => void
}

const PANELS: Readonly<Record<PanelName, typeof ExplainPanel>> = { explain: ExplainPanel }

export function IncidentPanel({ name, ...props }: PanelProps & { readonly name: PanelName }) {
  const Panel = PANELS[name]
  return <Panel {...props} />
}
