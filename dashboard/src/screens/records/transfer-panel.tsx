import X from 'lucide-react/icons/x';
import { useEffect, useId, useRef } from 'react';
import { IconButton } from '../../parts/button.tsx';
import type { ShownRecords } from './column-layout.ts';
import { ExportForm } from './export-form.tsx';
import { ImportForm } from './import-form.tsx';

interface TransferPanelProps extends ShownRecords {
  readonly mode: 'export' | 'import';
  readonly onClose: () => void;
}

/** A panel above the page, as wide as a mapping of columns needs it. */
export function TransferPanel({ mode, onClose, ...props }: TransferPanelProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog className="dialog transfer" ref={dialog} aria-labelledby={id} onClose={onClose}>
      <header className="transfer-head">
        <h2 id={id}>
          {mode === 'export' ? `Export ${props.collection.name}` : `Import CSV into ${props.collection.name}`}
        </h2>
        <IconButton label="Close" keys="esc" icon={X} onClick={onClose} />
      </header>
      {mode === 'export' ? <ExportForm {...props} /> : <ImportForm {...props} onClose={onClose} />}
    </dialog>
  );
}
