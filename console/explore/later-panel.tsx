/** The panel that the address opens over the rows. */
import { route, setParams } from '../base/route.ts'
import type { PanelName } from '../incident/incident-panel.tsx'
import { Later } from '../parts/later.tsx'
import type { CountedAsk } from './counted.ts'

const PANELS: readonly PanelName[] = ['explain', 'patterns']

export function openPanel(): PanelName | undefined {
  return PANELS.find((name) => name === route.value.params.get('panel'))
}

export function togglePanel(name: PanelName): void {
  if (openPanel() === name) closePanel()
  else setParams({ panel: name }, 'keep')
}

function closePanel(): void {
  setParams({ panel: undefined, against: undefined, sort: undefined })
}

export function LaterPanel({ name, counted }: { name: PanelName; counted: CountedAsk }) {
  return (
    <Later
      show={({ IncidentPanel }) => (
        <IncidentPanel name={name} counted={counted} onClose={closePanel} />
      )}
    />
  )
}
