import type { LucideIcon } from 'lucide-react';
import { type ComponentProps, useState } from 'react';
import { FileInput } from '../../parts/file-input.tsx';

interface FileDropProps extends Pick<ComponentProps<'input'>, 'id' | 'multiple' | 'accept' | 'disabled'> {
  /** What the files are for. */
  readonly label: string;
  readonly text: string;
  readonly icon: LucideIcon;
  readonly onFiles: (files: readonly File[]) => void;
}

/** Where files are dropped, or chosen. */
export function FileDrop({ label, text, icon: Icon, onFiles, ...input }: FileDropProps) {
  const [isOver, setIsOver] = useState(false);
  return (
    <label
      className="drop"
      data-over={isOver ? '' : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <Icon size={14} aria-hidden />
      {text}
      <FileInput {...input} aria-label={label} onFiles={onFiles} />
    </label>
  );
}
