import X from 'lucide-react/icons/x';
import { IconButton } from '../../parts/button.tsx';
import { splitTerms, withoutTerm } from './filter-terms.ts';

interface FilterChipsProps {
  readonly filter: string;
  /** Marks the text of a condition, to change it. */
  readonly onMark: (start: number, end: number) => void;
  readonly onFilter: (filter: string) => void;
}

/** Each condition of the filter by itself: a click marks its text, its cross takes it out. */
export function FilterChips({ filter, onMark, onFilter }: FilterChipsProps) {
  const terms = splitTerms(filter);
  if (terms.length === 0) return null;
  return (
    <ul className="filter-chips" aria-label="Conditions">
      {terms.map(({ text, start, end, joint }, index) => (
        <li key={`${start}-${text}`}>
          {joint !== '' && <span className="faint">{joint === '&&' ? 'and' : 'or'}</span>}
          <span className="chip">
            <button type="button" className="cut mono" title={text} onClick={() => onMark(start, end)}>
              {text}
            </button>
            <IconButton
              small
              label={`Remove ${text}`}
              onClick={() => onFilter(withoutTerm(filter, index))}
              icon={X}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}
