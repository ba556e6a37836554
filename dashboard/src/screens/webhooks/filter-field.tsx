import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { ReactNode } from 'react';
import type { FilterTrial } from '../../api/filter-trial.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { plural, Time } from '../../parts/time.tsx';
import type { EndpointValues } from './endpoint-values.ts';
import { useFilterTrial } from './use-filter-trial.ts';

interface FilterFieldProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
  readonly error: string | undefined;
  /** Whether the service has said that nothing is wrong with what the form has now, or what. */
  readonly isChecked: boolean;
  /** What is allowed and yet hardly meant. */
  readonly warnings: readonly string[];
}

/** A condition on what the endpoint is sent, tried on the last changes while one types. */
export function FilterField({ values, onChange, error, isChecked, warnings }: FilterFieldProps) {
  const trial = useFilterTrial(values, isChecked && error === undefined);
  return (
    <LabelledField
      id="endpoint-filter"
      label="Filter"
      error={error}
      help="Send only changes where the updated record matches. Leave empty to send all. @old.state is the value before; state:changed = true means it is a new one."
    >
      <textarea
        id="endpoint-filter"
        className="input mono"
        rows={1}
        placeholder="state = 'paid' && state:changed = true"
        value={values.filter}
        spellCheck={false}
        onChange={(event) => onChange({ filter: event.target.value })}
        {...errorAttributes('endpoint-filter', error)}
      />
      <FilterWarnings warnings={warnings} />
      {trial !== undefined && <TrialNote trial={trial} />}
    </LabelledField>
  );
}

export function FilterWarnings({ warnings }: Pick<FilterFieldProps, 'warnings'>) {
  return warnings.map((text) => (
    <p key={text} className="filter-trial" data-doubtful>
      <TriangleAlert size={13} aria-hidden />
      <span>{text}</span>
    </p>
  ));
}

interface TrialNoteProps {
  readonly trial: FilterTrial;
  /** What follows. */
  readonly children?: ReactNode;
}

/** How much a filter lets through: so that a wrong one does not look like a right one. */
export function TrialNote({ trial, children }: TrialNoteProps) {
  const { changes, matches, unknown } = trial;
  if (changes === 0)
    return (
      <p className="field-help" role="status">
        No changes yet to try the filter on.
      </p>
    );
  const isDoubtful = matches === 0 && unknown === 0;
  return (
    <p className="filter-trial" data-doubtful={isDoubtful ? '' : undefined} role="status">
      {isDoubtful && <TriangleAlert size={13} aria-hidden />}
      <span>
        Matches {matches === 0 ? 'none' : matches} of {changesText(trial)}.
        {trial.lastMatch !== undefined && (
          <>
            {' Last match '}
            <Time value={trial.lastMatch} />.
          </>
        )}
        {unknown > 0 && ` ${unknown} unknown: the state before is no longer in the log.`} {children}
      </span>
    </p>
  );
}

/** `the last 100 changes`, `12 changes in the last 24 hours`. */
function changesText({ changes, isDay }: FilterTrial): string {
  if (isDay) return `${plural(changes, 'change')} in the last 24 hours`;
  return changes === 1 ? 'the last change' : `the last ${changes} changes`;
}
