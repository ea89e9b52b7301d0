/// The version of a document: its member `v`, the same in every kind of document. Members that were added later are written only where they
/// differ from their defaults.
package enum DocumentVersion {
  package static let current = 1
  package static let member: StaticString = "v"
}
