import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { ReactNode } from 'react';
import type { FilterTrial, TriedFilter } from '../../api/filter-trial.ts';
import type { Form } from '../../parts/form/use-form.ts';
import { plural, Time } from '../../parts/time.tsx';
import { useFilterTrial } from './use-filter-trial.ts';

interface FilterNotesProps {
  readonly form: Form;
  /** Whether the service has said that nothing is wrong with what the form has now, or what. */
  readonly isChecked: boolean;
  /** What is allowed and yet hardly meant. */
  readonly warnings: readonly string[];
}

/** What the filter of a form lets through, tried on the last changes while one types. */
export function FilterNotes({ form, isChecked, warnings }: FilterNotesProps) {
  const { events, collections, filter } = triedFilter(form);
  const trial = useFilterTrial({ events, collections, filter }, isChecked && !form.errors.has('filter'));
  return (
    <div className="form-note">
      <FilterWarnings warnings={warnings} />
      {trial !== undefined && <TrialNote trial={trial} />}
    </div>
  );
}

function triedFilter(form: Form): TriedFilter {
  const tried = {
    events: form.value('events'),
    collections: form.value('collections'),
    filter: form.value('filter'),
  };
  // The fields of these paths hold what the API has there.
  return tried as TriedFilter;
}

export function FilterWarnings({ warnings }: Pick<FilterNotesProps, 'warnings'>) {
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
