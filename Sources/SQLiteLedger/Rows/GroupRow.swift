internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

extension TaskGroup {
  init(_ row: StoredRow) throws(UnreadableRow) {
    let name = try row.text(.groupName)
    self.init(TaskGroupKey(tenant: try row.tenant(), name: name), createdAt: try row.time(.created))
    closedAt = try row.integerIfAny(.closed).map { Timestamp(microseconds: $0) }
    completedAt = try row.integerIfAny(.completed).map { Timestamp(microseconds: $0) }
    finalCounts = try row.documentIfAny(.groupCounts) { document throws(RecordFault) in
      try Document.read(GroupCounts.self, document)
    }
  }
}

extension RowMapping<TaskGroup> {
  static let group = RowMapping(
    .taskGroup,
    [
      Column(.tenant) { group, _ in .string(group.key.tenant.name) },
      Column(.key) { group, box in .blob(box.names.name(group: group.key.name, of: group.key.tenant)) },
      Column(.name) { group, box in box.sealed(group.key.name, .groupName) },
      Column(.created) { group, _ in .time(group.createdAt) },
    ])

  static let completedGroup = RowMapping(
    .taskGroup,
    [
      Column(.completed) { group, _ in .ifAny(group.completedAt) { .time($0) } },
      Column(.counts) { group, box in
        .ifAny(group.finalCounts) { box.sealed(Document.write($0), .groupCounts) }
      },
      Column(.tenant) { group, _ in .string(group.key.tenant.name) },
      Column(.key) { group, box in .blob(box.names.name(group: group.key.name, of: group.key.tenant)) },
    ])
}
