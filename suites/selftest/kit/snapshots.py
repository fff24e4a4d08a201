"""Golden files: one of its own for each, in the form that its content has."""

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class MarkdownFile(SingleFileSnapshotExtension):
    file_extension = "md"


class XmlFile(SingleFileSnapshotExtension):
    file_extension = "xml"


class TextFile(SingleFileSnapshotExtension):
    file_extension = "txt"


class SvgFile(SingleFileSnapshotExtension):
    """A picture, unstyled: colours are the page's."""

    file_extension = "svg"


class YamlFile(SingleFileSnapshotExtension):
    file_extension = "yaml"
    _write_mode = WriteMode.TEXT
