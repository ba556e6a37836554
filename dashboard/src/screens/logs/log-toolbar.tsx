import CalendarClock from 'lucide-react/icons/calendar-clock';
import X from 'lucide-react/icons/x';
import type { LogLevel } from '../../api/logs.ts';
import { choicesOf } from '../../api/members-of.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Menu, MenuChoice, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { Segments } from '../../parts/radio-list.tsx';
import { localTime, parseTime } from '../../parts/time.tsx';
import { type LogChange, type LogSearch, ranges, timeText, toTimeRange } from './log-search.ts';

const levels = choicesOf<LogLevel | 'all'>({ all: 'All', refused: 'Refused', failed: 'Failed' });

interface LogToolbarProps {
  readonly search: LogSearch;
  readonly onChange: (next: LogChange, replace?: boolean) => void;
}

/** How requests ended, and when they came. */
export function LogToolbar({ search, onChange }: LogToolbarProps) {
  const { level, range = '24h', from, to } = search;
  const isBetween = from !== undefined && to !== undefined;
  const label = isBetween ? 'Between two times' : (ranges.find(({ value }) => value === range)?.label ?? '');
  return (
    <div className="log-tools">
      <Segments
        label="Outcome"
        choices={levels}
        value={level ?? 'all'}
        onChange={(next) => onChange({ level: next === 'all' ? undefined : next })}
      />
      <Menu align="start" trigger={<Button icon={CalendarClock}>{label}</Button>}>
        <MenuChoice
          label="Time"
          value={isBetween ? '' : range}
          choices={ranges}
          onChange={(value) => onChange({ range: value || undefined, from: undefined, to: undefined })}
        />
        <MenuLine />
        <MenuItem
          onSelect={() => {
            const shown = toTimeRange(search, new Date());
            onChange({ from: timeText(shown.from), to: timeText(shown.to), live: undefined });
          }}
        >
          Between two times …
        </MenuItem>
      </Menu>
      {isBetween && (
        <>
          <TimeInput label="From" value={from} onChange={(next) => onChange({ from: next }, true)} />
          <span aria-hidden>–</span>
          <TimeInput label="To" value={to} onChange={(next) => onChange({ to: next }, true)} />
          <IconButton
            icon={X}
            small
            label="Back to the last 24 hours"
            onClick={() => onChange({ from: undefined, to: undefined })}
          />
        </>
      )}
    </div>
  );
}

interface TimeInputProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A moment in the time zone of the reader. */
function TimeInput({ label, value, onChange }: TimeInputProps) {
  const date = parseTime(value);
  return (
    <input
      className="input log-moment"
      type="datetime-local"
      aria-label={label}
      value={date === undefined ? '' : localTime(date).slice(0, 16)}
      onChange={(event) => {
        const next = new Date(event.target.value);
        if (!Number.isNaN(next.getTime())) onChange(timeText(next));
      }}
    />
  );
}
