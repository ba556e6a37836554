interface LabelChipsProps {
  readonly labels: Readonly<Record<string, string>>;
  /** How many are shown at most. */
  readonly max: number;
}

export function LabelChips({ labels, max }: LabelChipsProps) {
  const all = Object.entries(labels);
  if (all.length === 0) return null;
  return (
    <span className="settings-chips">
      {all.slice(0, max).map(([name, value]) => (
        <span key={name} className="chip" title={`${name}: ${value}`}>
          <span className="cut">
            {name}: {value}
          </span>
        </span>
      ))}
      {all.length > max && <span className="faint small">+{all.length - max}</span>}
    </span>
  );
}
