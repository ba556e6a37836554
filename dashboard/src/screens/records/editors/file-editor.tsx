import { useQuery } from '@tanstack/react-query';
import Paperclip from 'lucide-react/icons/paperclip';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import Upload from 'lucide-react/icons/upload';
import X from 'lucide-react/icons/x';
import { useEffect, useMemo } from 'react';
import type { RecordModel } from '../../../api/client.ts';
import type { FieldOf } from '../../../api/collections.ts';
import { type FileOptions, fileTokenQuery, fileUrl, isImage } from '../../../api/files.ts';
import { byteSize } from '../../../parts/byte-size.ts';
import { IconButton } from '../../../parts/button.tsx';
import { FileDrop } from '../file-drop.tsx';
import { FileChange } from '../record-draft.ts';

interface FileEditorProps {
  readonly id: string;
  readonly field: FieldOf<'file'>;
  readonly record: RecordModel | undefined;
  readonly value: unknown;
  readonly onChange: (value: FileChange | undefined) => void;
}

/** The files of a field: those that are there, which can be moved and taken away, and those to be added, by choice, drop or paste. */
export function FileEditor({ id, field, record, value, onChange }: FileEditorProps) {
  const { data: token } = useQuery({ ...fileTokenQuery, enabled: field.protected && record !== undefined });
  const isSingle = field.maxSelect <= 1;
  const change = value instanceof FileChange ? value : new FileChange({});
  const stored = [record?.[field.name] ?? []]
    .flat()
    .filter((name) => name !== '')
    .map(String);
  const names = change.order ?? stored;
  const set = (members: Partial<FileChange>): void => {
    const next = change.with(members);
    onChange(next.isEmpty ? undefined : next);
  };
  const add = (files: readonly File[]): void => {
    if (files.length > 0) set({ added: isSingle ? files.slice(0, 1) : [...change.added, ...files] });
  };
  const move = (name: string, to: string | undefined): void => {
    if (to === undefined || to === name || !names.includes(name)) return;
    const order = names.filter((one) => one !== name);
    order.splice(names.indexOf(to), 0, name);
    set({ order: order.join('/') === stored.join('/') ? undefined : order });
  };
  const urlOf = (name: string, options: FileOptions = {}): string | undefined =>
    record === undefined ? undefined : fileUrl(record, name, { token, ...options });
  const hasThumb = (name: string): boolean => isImage(name) && (!field.protected || token !== undefined);
  return (
    <div className="file-list" onPaste={(event) => add([...event.clipboardData.files])}>
      <div className="files" role={names.length + change.added.length > 0 ? 'list' : undefined}>
        {names.map((name) => (
          <FileLine
            key={name}
            name={name}
            url={urlOf(name)}
            thumb={hasThumb(name) ? urlOf(name, { thumb: '100x100' }) : undefined}
            isGone={change.removed.includes(name) || (isSingle && change.added.length > 0)}
            onToggle={() => set({ removed: toggled(change.removed, name) })}
            {...(names.length > 1 && {
              onDrop: (moved) => move(moved, name),
              onStep: (step) => move(name, names[names.indexOf(name) + step]),
            })}
          />
        ))}
        {change.added.map((file) => (
          <AddedFile
            key={`${file.name}-${file.lastModified}`}
            file={file}
            onRemove={() => set({ added: toggled(change.added, file) })}
          />
        ))}
      </div>
      <FileDrop
        id={id}
        label={`Files for ${field.name}`}
        text={isSingle ? 'Drop a file here, or choose one' : 'Drop files here, or choose some'}
        icon={Upload}
        multiple={!isSingle}
        accept={field.mimeTypes.join(',')}
        onFiles={add}
      />
    </div>
  );
}

function toggled<Item>(items: readonly Item[], item: Item): readonly Item[] {
  return items.includes(item) ? items.filter((one) => one !== item) : [...items, item];
}

interface FileLineProps {
  readonly name: string;
  readonly url?: string | undefined;
  readonly thumb: string | undefined;
  readonly note?: string;
  readonly isGone?: boolean;
  readonly onToggle: () => void;
  /** Another file was dropped on this one. Where it can be moved itself, it is dragged, or goes a step with alt and an arrow. */
  readonly onDrop?: (name: string) => void;
  readonly onStep?: (step: 1 | -1) => void;
}

const dragType = 'application/x-file-name';

function FileLine({ name, url, thumb, note, isGone = false, onToggle, onDrop, onStep }: FileLineProps) {
  return (
    <div
      className="file"
      role="listitem"
      data-gone={isGone ? '' : undefined}
      draggable={onDrop !== undefined}
      onDragStart={(event) => event.dataTransfer.setData(dragType, name)}
      onDragOver={(event) => {
        if (onDrop !== undefined && event.dataTransfer.types.includes(dragType)) event.preventDefault();
      }}
      onDrop={(event) => {
        const moved = event.dataTransfer.getData(dragType);
        if (moved === '') return;
        event.preventDefault();
        onDrop?.(moved);
      }}
      onKeyDown={(event) => {
        const step = { ArrowUp: -1 as const, ArrowDown: 1 as const }[event.key];
        if (onStep === undefined || !event.altKey || step === undefined) return;
        event.preventDefault();
        onStep(step);
      }}
    >
      {thumb === undefined ? (
        <Paperclip size={15} aria-hidden />
      ) : (
        <img className="thumb" src={thumb} alt="" />
      )}
      <a className="cut" href={url} target="_blank" rel="noreferrer" title={name}>
        {name}
      </a>
      {note !== undefined && <span className="faint">{note}</span>}
      <IconButton
        small
        label={isGone ? `Keep ${name}` : `Remove ${name}`}
        icon={isGone ? RotateCcw : X}
        onClick={onToggle}
      />
    </div>
  );
}

function AddedFile({ file, onRemove }: { readonly file: File; readonly onRemove: () => void }) {
  const { name, size } = file;
  const url = useMemo(() => (isImage(file.name) ? URL.createObjectURL(file) : undefined), [file]);
  useEffect(
    () => () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    },
    [url],
  );
  return <FileLine name={name} thumb={url} note={`${byteSize(size)}, new`} onToggle={onRemove} />;
}
