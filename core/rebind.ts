import type { Family, FamilySpec, Operation, Store, StoreBase } from "./store.ts";

/** Binds verbs of one store's families to another store. */
export interface Rebind {
  /** The same family, on the other store. */
  family(own: Family): Family;
  /** The same verb, on the other store. */
  bound(own: Operation["bound"]): Operation["bound"];
  /** The same operations, on the other store. */
  operations(own: readonly Operation[]): readonly Operation[];
}

/**
 * Binds verbs to the families of another store.
 *
 * @param store The other store.
 * @param specOf Makes the specification of a family on the other store; by default it is the same.
 */
export function rebindTo(store: Store, specOf: (spec: FamilySpec) => FamilySpec = same): Rebind {
  const families = new WeakMap<Family, Family>();

  function familyOf(own: Family): Family {
    let other = families.get(own);
    if (other === undefined) {
      other = (store as StoreBase).open(specOf(own.spec));
      families.set(own, other);
    }
    return other;
  }

  const bound: Rebind["bound"] = ({ family, verb }) => familyOf(family).bind(verb);

  return {
    family: familyOf,
    bound,
    operations: (own) => own.map((operation) => ({ ...operation, bound: bound(operation.bound) })),
  };
}

function same<Value>(value: Value): Value {
  return value;
}
