import Search from 'lucide-react/icons/search';
import { lazy, Suspense, useEffect, useRef, useState, type ComponentProps } from 'react';

/** Loaded when it is first opened, or the pointer reaches the button that opens it. */
export const loadPalette = async () => import('./palette.tsx');
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

/** The dialog of the palette. Its input is there at once, so that nothing is lost that is typed while the rest is loaded. */
export function PaletteDialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      className="palette"
      ref={dialog}
      aria-label="Search"
      onClose={onClose}
      onClick={(event) => {
        // What is around the dialog is the dialog, too, as everything in it is an element of its own.
        if (event.target === dialog.current) onClose();
      }}
    >
      <Suspense fallback={<PaletteInput text={text} onText={setText} />}>
        <Palette text={text} onText={setText} onClose={onClose} />
      </Suspense>
    </dialog>
  );
}

interface PaletteInputProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function PaletteInput({ text, onText, ...attributes }: PaletteInputProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const end = input.current?.value.length ?? 0;
    input.current?.focus();
    input.current?.setSelectionRange(end, end);
  }, []);
  return (
    <div className="palette-input">
      <Search size={17} aria-hidden />
      <input
        {...attributes}
        ref={input}
        aria-label="Search"
        placeholder="Search records, collections, screens and actions"
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onText(event.target.value)}
      />
    </div>
  );
}
