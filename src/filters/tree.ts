/** A parsed filter. Every node has its position in the text (UTF-16 units from 0), so that errors of compilation can name it. */
export type FilterTree = Junction | Comparison;

/** Two or more conditions, of which all or at least one must hold. Junctions of the same kind may be nested. */
interface Junction {
  readonly kind: 'and' | 'or';
  readonly items: readonly FilterTree[];
  readonly position: number;
}

export interface Comparison {
  readonly kind: 'comparison';
  readonly left: OperandNode;
  readonly operator: Operator;
  /** True when written with `?`: one matching value is enough, while the plain operator requires that all match. */
  readonly isAny: boolean;
  readonly right: OperandNode;
  /** The position of the first operand. */
  readonly position: number;
}

export type Operator = '=' | '!=' | '~' | '!~' | '<' | '<=' | '>' | '>=';

export type OperandNode = IdentifierNode | NumberNode | TextNode | CallNode;

export interface IdentifierNode {
  readonly kind: 'identifier';
  /** As written, a modifier included: `author.name`, `tags:each`, `@now`. */
  readonly name: string;
  readonly position: number;
}

interface NumberNode {
  readonly kind: 'number';
  readonly value: number;
  readonly position: number;
}

interface TextNode {
  readonly kind: 'text';
  /** Without its quotes and escapes. */
  readonly value: string;
  readonly position: number;
}

export interface CallNode {
  readonly kind: 'call';
  readonly name: string;
  readonly arguments: readonly OperandNode[];
  readonly position: number;
}
