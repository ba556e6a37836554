import type { ReactNode } from 'react';

interface FigureProps {
  readonly name: string;
  /** Undefined as long as it is on its way. */
  readonly value: number | string | undefined;
  readonly children?: ReactNode;
}

/** One number, large, with its name above and what it means below. */
export function Figure({ name, value, children }: FigureProps) {
  return (
    <div className="figure">
      <span className="figure-name">{name}</span>
      <span className="figure-value">
        {value === undefined ? (
          <span className="placeholder" style={{ inlineSize: 56, blockSize: 18 }} />
        ) : typeof value === 'number' ? (
          value.toLocaleString()
        ) : (
          value
        )}
      </span>
      {children !== undefined && <span className="figure-note">{value !== undefined && children}</span>}
    </div>
  );
}
