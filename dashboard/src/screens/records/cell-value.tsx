import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import ArrowUpRight from 'lucide-react/icons/arrow-up-right';
import Check from 'lucide-react/icons/check';
import Minus from 'lucide-react/icons/minus';
import Paperclip from 'lucide-react/icons/paperclip';
import type { MouseEvent } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { type FieldOf, presentableFields } from '../../api/collections.ts';
import { fileTokenQuery, fileUrl, isImage } from '../../api/files.ts';
import { excerptLine } from '../../parts/excerpt.ts';
import { Time } from '../../parts/time.tsx';
import { plainText } from './plain-text.ts';

interface CellValueProps {
  readonly record: RecordModel;
  readonly field: Field;
  readonly collections: readonly Collection[];
}

/** A value in one line, as its type is best read. An empty one is a dash, so that a column has no holes. */
export function CellValue({ record, field, collections }: CellValueProps) {
  const value = record[field.name];
  if (isEmpty(value)) return <span className="cell-nothing">–</span>;
  switch (field.type) {
    case 'bool':
      return <BoolValue value={value === true} />;
    case 'number':
      return <span>{String(value)}</span>;
    case 'date':
    case 'autodate':
      return <Time value={String(value)} />;
    case 'select':
      return textsOf(value).map((text) => (
        <span key={text} className="chip">
          {text}
        </span>
      ));
    case 'relation':
      return textsOf(value).map((id) => (
        <RelationChip key={id} id={id} record={record} field={field} collections={collections} />
      ));
    case 'file':
      return <FileValues record={record} field={field} names={textsOf(value)} />;
    case 'json':
    case 'geoPoint':
      return <span className="mono">{excerptLine(JSON.stringify(value))}</span>;
    case 'editor':
      return <span>{plainText(String(value))}</span>;
    case 'text':
      return <span className={field.primaryKey ? 'mono' : undefined}>{excerptLine(String(value))}</span>;
    default:
      return <span>{excerptLine(String(value))}</span>;
  }
}

/** A value as it is copied: a text as it is, anything else as JSON. */
export function cellText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The id, and what the service fills in. */
export function isFixed(field: Field): boolean {
  return field.type === 'autodate' || ('primaryKey' in field && field.primaryKey);
}

/** Numbers stand at the end, digit under digit. */
export function isEndAligned({ type }: Field): boolean {
  return type === 'number';
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

function textsOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map(String);
}

function BoolValue({ value }: { readonly value: boolean }) {
  const Icon = value ? Check : Minus;
  return (
    <span className="bool" data-value={value}>
      <Icon size={14} aria-hidden />
      {value ? 'true' : 'false'}
    </span>
  );
}

interface RelationChipProps {
  readonly id: string;
  readonly record: RecordModel;
  readonly field: FieldOf<'relation'>;
  readonly collections: readonly Collection[];
}

/** A related record by what presents it, with a link to it. One that was deleted, or came by realtime, shows its id. */
function RelationChip({ id, record, field, collections }: RelationChipProps) {
  const target = collections.find((collection) => collection.id === field.collectionId);
  const related = [record.expand?.[field.name] ?? []].flat().find((one) => one.id === id);
  const label = target === undefined || related === undefined ? '' : recordLabel(target, related);
  if (target === undefined) return <span className="chip">{id}</span>;
  return (
    <Link
      className="chip"
      to="/c/$collection"
      params={{ collection: target.name }}
      search={{ record: id }}
      tabIndex={-1}
      title={`${target.name} / ${id}`}
      onClick={followArrow}
    >
      <span className={label === '' ? 'cut mono' : 'cut'}>{label === '' ? id : label}</span>
      <span className="chip-arrow">
        <ArrowUpRight size={13} aria-hidden />
      </span>
    </Link>
  );
}

/** A click selects the cell, as everywhere in the table, and a double click edits it; the arrow of the selected one follows the link. */
function followArrow(event: MouseEvent): void {
  const isArrow = event.target instanceof Element && event.target.closest('.chip-arrow') !== null;
  // Where the first of two clicks has brought the arrow below the pointer, the second does not follow it.
  if ((isArrow && event.detail < 2) || event.metaKey || event.ctrlKey) event.stopPropagation();
  else event.preventDefault();
}

/** What presents a record where there is room for a line; empty where nothing does. */
export function recordLabel(collection: Collection, record: RecordModel): string {
  return presentableFields(collection)
    .map(({ name }) => record[name])
    .filter((value) => !isEmpty(value))
    .map((value) => excerptLine(typeof value === 'string' ? value : JSON.stringify(value)))
    .join(' · ');
}

interface FileValuesProps {
  readonly record: RecordModel;
  readonly field: FieldOf<'file'>;
  readonly names: readonly string[];
}

function FileValues({ record, field, names }: FileValuesProps) {
  const { data: token } = useQuery({ ...fileTokenQuery, enabled: field.protected });
  const canShow = !field.protected || token !== undefined;
  return names.map((name) =>
    isImage(name) && canShow ? (
      <img
        key={name}
        className="thumb"
        src={fileUrl(record, name, { thumb: '100x100', token })}
        alt={name}
        title={name}
        loading="lazy"
      />
    ) : (
      <span key={name} className="chip" title={name}>
        <Paperclip size={12} aria-hidden />
        <span className="cut">{name}</span>
      </span>
    ),
  );
}
