/** Always in sight: which time is looked at, and in which zone times are shown. */
import { CLOCK_NAMES, CLOCKS, type Clock, clockParam } from '../base/clock.ts'
import { setParams } from '../base/route.ts'
import { zone, zoneName } from '../base/time.ts'
import { ask } from './ask.ts'

const TITLES: Readonly<Record<Clock, string>> = {
  event_time: 'By when events happened, as they say themselves',
  ingested_at: 'By when events were received',
}

export function ClockSwitch() {
  const { clock } = ask.value
  return (
    <div class="clock" role="group" aria-label="Which time">
      {CLOCKS.map((one) => (
        <button
          key={one}
          type="button"
          id={`clock-${one}`}
          aria-pressed={one === clock}
          title={TITLES[one]}
          onClick={() => setParams({ basis: clockParam(one) })}
        >
          {CLOCK_NAMES[one]}
        </button>
      ))}
      <button
        type="button"
        id="zone"
        class="plain"
        aria-label={`Times are shown in ${zoneName()}: change`}
        title={`Times are shown in ${zoneName()}; click for ${zoneName(other())}`}
        onClick={() => {
          zone.value = other()
        }}
      >
        {zoneName()}
      </button>
    </div>
  )
}

function other() {
  return zone.value === 'utc' ? 'local' : 'utc'
}
